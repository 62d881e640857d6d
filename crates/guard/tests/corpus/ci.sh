#!/usr/bin/env bash
# A build script as projects have them.
set -euo pipefail
IFS=$'\n\t'

readonly ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
: "${PROFILE:=release}" "${JOBS:=$(nproc 2>/dev/null || echo 4)}"

log() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }
die() { log "error: $*"; exit 1; }

usage() {
  cat <<EOF
usage: ${0##*/} [--fast] [--target NAME]
  runs on $(uname -s) with ${JOBS} jobs
EOF
}

targets=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h|--help) usage; exit 0 ;;
    --fast) PROFILE=dev; shift ;;
    --target) targets+=("${2:?a name is needed}"); shift 2 ;;
    --) shift; break ;;
    -*) die "unknown option $1" ;;
    *) break ;;
  esac
done

trap 'log "stopped at line $LINENO"' ERR

if ! command -v cargo >/dev/null 2>&1; then
  die "cargo is missing"
elif [ "$PROFILE" = release ] && [ -z "${CI:-}" ]; then
  log "this takes a while"
fi

for target in "${targets[@]:-native}"; do
  (
    cd "$ROOT"
    if [[ $target == native ]]; then
      cargo build --profile "$PROFILE" -j "$JOBS"
    else
      cargo build --profile "$PROFILE" --target "$target" -j "$JOBS"
    fi
  ) || die "build for $target failed"
done

count=$(find "$ROOT/src" -name '*.rs' -print0 | xargs -0 cat | wc -l)
(( count > 0 )) && log "$((count / 1000)) thousand lines"
diff <(git ls-files | sort) <(find . -type f | sed 's|^\./||' | sort) | head -n 20 || true
