# What every folder's CMakeLists.txt uses: the flags, the build choice, and two functions.
find_package(Threads REQUIRED)
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

if(LATHE_BUILD STREQUAL "cuda")
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90a-real 100-real 120)   # 120 without -real carries PTX
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")   # CMake 3.25 does not know it yet
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA_STANDARD 20)
  find_package(CUDAToolkit 12.6 REQUIRED)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror,-Wno-unused-parameter;-lineinfo;--expt-relaxed-constexpr;-Xptxas=-warn-spills>")
endif()

add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror>")
if(LATHE_BUILD STREQUAL "host")
  # x86-64-v3 (AVX2, FMA) everywhere: nvcc contracts multiply-adds too, and Eigen's alignment must agree between files.
  # Kernels reinterpret float* as float4*, as CUDA code does.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-march=x86-64-v3)
  endif()
  add_compile_options(-fno-strict-aliasing)
endif()
if(LATHE_SANITIZE)
  add_compile_options(-fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LATHE_SANITIZE})
endif()
include_directories(${CMAKE_SOURCE_DIR})

# lathe_library(name [OBJECT] [LINK libraries…]): every source below the current folder, in one library.
# OBJECT for the layers: they register themselves, and a linker drops unreferenced members of an archive.
# The build choice is in file names alone: *_onednn.cpp and *_reference.cpp are for the host build,
# *_cudnn.cpp and *_cublas.cpp for the cuda build. *.cu files are CUDA C++ for nvcc and for g++ alike.
function(lathe_library name)
  cmake_parse_arguments(ARG "OBJECT" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
  if(LATHE_BUILD STREQUAL "host")
    list(FILTER sources EXCLUDE REGEX "_(cudnn|cublas)\\.cpp$")
    lathe_cuda_as_cxx(${sources})
  else()
    list(FILTER sources EXCLUDE REGEX "_(onednn|reference)\\.cpp$")
  endif()
  if(ARG_OBJECT)
    add_library(${name} OBJECT ${sources})
  else()
    add_library(${name} STATIC ${sources})
  endif()
  target_link_libraries(${name} PUBLIC lathe_cuda_runtime ${ARG_LINK})
endfunction()

# In the host build g++ compiles .cu files, at -O3 and without errno and traps, which a GPU lacks, so that flat
# kernels vectorise. Under ThreadSanitizer kernels keep no shadow stack: their fibers would confuse it.
function(lathe_cuda_as_cxx)
  set(options "-xc++;-O3;-fno-math-errno;-fno-trapping-math")
  if(LATHE_SANITIZE MATCHES "thread")
    list(APPEND options "--param=tsan-instrument-func-entry-exit=0")
  endif()
  foreach(source ${ARGN})
    if(source MATCHES "\\.cu$")
      # A header precompiled with other options crashes g++ 12.
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# lathe_traced_library(name sources…): .cu files compiled so that hostcuda/trace sees every access of theirs, with
# its line, and .cpp files as ever. -O1 and the rest keep one access of the source one access of the code, and
# basic blocks in order. To be called in a folder whose .cu files have no other use.
function(lathe_traced_library name)
  add_library(${name} STATIC ${ARGN})
  list(FILTER ARGN INCLUDE REGEX "\\.cu$")
  set(options -xc++ -O1 -g -fno-reorder-blocks -fno-tree-sra -fno-ipa-sra -fno-tree-vectorize -fsanitize=thread
    --param=tsan-instrument-func-entry-exit=0 --param=tsan-distinguish-volatile=1 -fsanitize-coverage=trace-pc
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -DLATHE_TRACED)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${options}")
  target_link_libraries(${name} PUBLIC lathe_hostcuda_trace)
endfunction()

# lathe_test(folder LINK libraries…): every test below tests/<folder> in one program, <folder>_tests.
function(lathe_test folder)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cu)
  list(FILTER sources EXCLUDE REGEX "/tests/hostcuda/trace/")   # a program of its own
  if(NOT sources)
    return()
  endif()
  if(LATHE_BUILD STREQUAL "host")
    lathe_cuda_as_cxx(${sources})
  endif()
  add_executable(${folder}_tests ${sources})
  target_link_libraries(${folder}_tests PRIVATE ${ARG_LINK} lathe_cuda_runtime GTest::gtest_main)
  target_precompile_headers(${folder}_tests PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<gtest/gtest.h$<ANGLE-R>>")
  target_compile_definitions(${folder}_tests PRIVATE LATHE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(${folder}_tests DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
