#!/bin/sh
# An installer as they are piped into a shell.
main() {
  need uname; need mktemp
  arch=$(uname -m) || exit 1
  case "$arch" in x86_64|amd64) arch=x86_64 ;; aarch64|arm64) arch=aarch64 ;; *) err "no $arch" ;; esac
  dir=$(mktemp -d 2>/dev/null || mktemp -d -t tool)
  url="${TOOL_URL:-https://example.org/dl}/tool-$arch.tar.gz"
  if has curl; then curl -fsSL "$url" -o "$dir/t.tgz"
  elif has wget; then wget -qO "$dir/t.tgz" "$url"
  else err 'neither curl nor wget'; fi
  tar -xzf "$dir/t.tgz" -C "$dir"
  mkdir -p "$HOME/.local/bin" && mv "$dir/tool" "$HOME/.local/bin/"
  rm -rf "$dir"
  if ! echo ":$PATH:" | grep -q ":$HOME/.local/bin:"; then
    cat >> "$HOME/.profile" <<-'EOF'
	export PATH="$HOME/.local/bin:$PATH"
	EOF
  fi
}
has() { command -v "$1" >/dev/null 2>&1; }
need() { has "$1" || err "need $1"; }
err() { echo "error: $1" >&2; exit 1; }
main "$@" || exit 1
