#!/bin/sh
# Downloads CIFAR-10 (binary version, 162 MB), checks it and unpacks it. Use it with --data cifar10:DIR.
#   datasets/fetch.sh [DIR]      DIR: data/cifar10 by default
# LATHE_CIFAR10_URL names another place to download from. Exit code 0, or 1 with one line that says why.
set -u
dir=${1:-data/cifar10}
url=${LATHE_CIFAR10_URL:-https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz}
md5=c32a1d4ab5d03f1284b67883e8d87530

fail() {
  echo "fetch.sh: $1" >&2
  exit 1
}

if [ -f "$dir/cifar-10-batches-bin/test_batch.bin" ]; then
  echo "already there: $dir"
  exit 0
fi
mkdir -p "$dir" 2>/dev/null || fail "$dir: the folder cannot be made"
work=$(mktemp -d "$dir/.fetch.XXXXXX" 2>/dev/null) || fail "$dir: cannot be written"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if command -v curl >/dev/null; then
  curl -fsSL --connect-timeout 20 -o "$work/archive" "$url" 2>/dev/null
elif command -v wget >/dev/null; then
  wget -q --timeout=20 --tries=2 -O "$work/archive" "$url" 2>/dev/null
else
  fail "needs curl or wget"
fi || fail "$url: cannot be downloaded; without a network use the built-in pictures, --data fruit"

echo "$md5  $work/archive" | md5sum -c --status 2>/dev/null ||
  fail "$url: the checksum is wrong (expected md5 $md5); try again"
tar -xzf "$work/archive" -C "$work" 2>/dev/null ||
  fail "$dir: the archive cannot be unpacked; is the disk full?"
mv "$work/cifar-10-batches-bin" "$dir/" || fail "$dir: cannot be written"
echo "done: --data cifar10:$dir"
