#!/bin/sh
# Compiles one .cu file with g++ and hostcuda, and runs it. From the top of the repository, after `make build`:
#   docs/course/examples/run.sh FILE.cu [g++ options, such as -DNO_BARRIER]
#   TRACED=1 docs/course/examples/run.sh FILE.cu      every memory access calls back (hostcuda/trace)
set -eu
file=$1
shift
build=${BUILD:-build/host}
program=$(mktemp -d)/$(basename "$file" .cu)
trap 'rm -r "$(dirname "$program")"' EXIT
options="-std=c++20 -xc++ -I . -I hostcuda/include -fno-strict-aliasing"
[ "$(uname -m)" = x86_64 ] && options="$options -march=x86-64-v3"
if [ "${TRACED:-0}" = 1 ]; then
  g++ $options -O1 -g -fno-reorder-blocks -fno-tree-sra -fno-ipa-sra -fno-tree-vectorize -fsanitize=thread \
    --param=tsan-instrument-func-entry-exit=0 --param=tsan-distinguish-volatile=1 -fsanitize-coverage=trace-pc \
    -DLATHE_TRACED "$@" -c "$file" -o "$program.o"
  trace="$build/hostcuda/liblathe_hostcuda_trace.a"
else
  g++ $options -O3 -fno-math-errno -fno-trapping-math "$@" -c "$file" -o "$program.o"
  trace=
fi
g++ "$program.o" $trace "$build/hostcuda/liblathe_hostcuda.a" ${trace:+-lbacktrace} -lboost_context -lfmt -fopenmp \
  -rdynamic -o "$program"
"$program"
