# Constructs that parsers disagree on.
function f { echo "${1//\'/\"}"; } 2>/dev/null
g() ( cd /; ls )
a=(one "two three" [5]=$(date)); a+=(four)
echo "${a[@]:1:2}" "${!a[@]}" "${#a[@]}" "${a[-1]^^}"
if [[ $x =~ ^[a-z]+(-[0-9]+)?$ && ! -e "$y" ]]; then :; fi
for ((i = 0; i < 3; i++)); do ((i % 2)) || continue; done
until ping -c1 host &>/dev/null; do sleep 1; done &
wait $!
select choice in a b; do break; done < /dev/null
case $x in (a|b) ls;& c) pwd;;& *) ;; esac
cat <<A <<-'B' - <<< "here $(id)"
one $(hostname) `uname`
A
	two $(not run)
	B
exec 3<>/tmp/x 4>&- 5<&0
echo $(( 1 + $(wc -l < f) )) $((x ? y : z)) $[1+2]
coproc NAME { cat; }
time -p { true; }
! false | tee >(wc -l) | cat -n
echo {a,b}{1..3} ~/x *.{rs,toml} $'a\nb' $"hello"
x=1 y="$(z=2; echo $z)" env | grep x
[ -n "$x" -a ! -f y ] && { true; } || (false)
echo a \
  b; echo 'c
d'
ls >| out 2>&1; cat 0<&3-
