#!/bin/sh
# Publishes a version: everything here has to be seen.
set -eu
version=${1:-$(git describe --tags --abbrev=0)}
branch="release/$version"

confirm() {
    printf 'publish %s? ' "$version"
    read -r answer
    case $answer in
        [yY]*) return 0 ;;
        *) return 1 ;;
    esac
}

confirm || exit 1
git checkout -b "$branch"
sed -i "s/^version = .*/version = \"$version\"/" Cargo.toml
git add Cargo.toml && git commit -m "release: $version

$(git log --oneline --no-decorate "$(git describe --tags --abbrev=0)"..HEAD | sed 's/^/- /')"
for remote in origin mirror; do
    git push "$remote" "$branch" || {
        echo "cannot push to $remote" >&2
        failed=1
    }
done
[ "${failed:-0}" -eq 0 ] && gh pr create --fill --base main
