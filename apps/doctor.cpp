// lathe doctor: what this machine has, what works, what is missing and the command that mends it.
#include "apps/doctor.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <Eigen/Core>
#include <algorithm>
#include <boost/version.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "apps/commands.h"
#include "engine/runtime/error.h"
#if __has_include(<jpeglib.h>)
#include <jconfig.h>
#endif

namespace lathe {
namespace {

constexpr std::string_view kGroups[] = {"machine", "build", "libraries", "gpu"};

// The start of a small file; "" where there is none.
std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::string text(1 << 16, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

// "value" of the first line "name : value".
std::string field(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t colon = line.find(':');
    if (line.rfind(name, 0) != 0 || colon == std::string::npos) continue;
    size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

// The leading number of text; -1 where there is none ("max").
double number(const std::string& text) {
  double value = -1;
  size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  std::from_chars(text.data() + start, text.data() + text.size(), value);
  return value;
}

std::string gib(double bytes) { return bytes < 0 ? "" : fmt::format("{:.1f} GiB", bytes / (1 << 30)); }

// Cores that the scheduler gives this process, and the share that a container's quota leaves of them.
double usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  double cores = sched_getaffinity(0, sizeof set, &set) == 0
                     ? CPU_COUNT(&set)
                     : static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  std::string quota = read_file("/sys/fs/cgroup/cpu.max");  // "200000 100000" or "max 100000"
  double allowed = number(quota), period = number(quota.substr(std::min(quota.find(' '), quota.size())));
  if (quota.empty()) {
    allowed = number(read_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
    period = number(read_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  }
  return allowed > 0 && period > 0 ? std::min(cores, allowed / period) : cores;
}

double free_memory() {
  double available = number(field(read_file("/proc/meminfo"), "MemAvailable"));
  if (available < 0) return -1;
  available *= 1024;  // kB
  double most = number(read_file("/sys/fs/cgroup/memory.max"));
  double used = number(read_file("/sys/fs/cgroup/memory.current"));
  return most > 0 && used >= 0 ? std::min(available, std::max(0.0, most - used)) : available;
}

void examine_cpu(std::vector<Finding>& found) {
  std::string cpu = read_file("/proc/cpuinfo");
  found.push_back({"machine", "cpu", field(cpu, "model name"), ""});
  found.push_back({"machine", "usable cores", fmt::format("{:.2g}", usable_cores()), ""});
  std::string flags = " " + field(cpu, "flags") + " ", present;
  for (std::string_view flag : {"avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16"})
    if (flags.find(fmt::format(" {} ", flag)) != std::string::npos) present += fmt::format("{} ", flag);
  if (!present.empty()) present.pop_back();
  Finding isa{"machine", "instructions", present, ""};
#if defined(__AVX2__)  // this program is compiled for them
  if (flags.size() > 2 &&
      (present.find("avx2") == std::string::npos || present.find("fma") == std::string::npos)) {
    isa.problem = "this build needs AVX2 and FMA, which the CPU lacks";
    isa.blocks_training = true;
  }
#endif
  found.push_back(isa);
}

void examine_space(std::vector<Finding>& found) {
  constexpr double kLeastMemory =
      1.5 * (1 << 30);  // VGG16 at 32×32 in fp32, batch 128, its optimiser, and oneDNN
  double memory = free_memory();
  Finding free{"machine", "free memory", gib(memory), ""};
  if (memory >= 0 && memory < kLeastMemory)
    free.problem = "little for the default run: lathe train --preset quick --batch-size 32 needs less";
  found.push_back(free);

  struct statvfs disk {};
  double space =
      statvfs(".", &disk) == 0 ? static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) : -1;
  Finding room{"machine", "free disk here", gib(space), ""};
  if (space >= 0 && space < (1 << 30))
    room.problem = "under 1 GiB: a run may not be able to save; --out DIR names another place";
  if (access(".", W_OK) != 0)
    room.problem = "this folder cannot be written to; --out DIR names another place";
  found.push_back(room);

  std::string mode = read_file("/sys/kernel/mm/transparent_hugepage/enabled");  // "always [madvise] never"
  size_t open = mode.find('['), close = mode.find(']');
  found.push_back({"machine", "huge pages",
                   open < close && close != std::string::npos ? mode.substr(open + 1, close - open - 1) : "",
                   ""});
}

std::string onednn_version() {
  struct Version {
    int major, minor, patch;
  };  // the head of dnnl_version_t
  for (const char* name : {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"})
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL))
      if (auto version = reinterpret_cast<const Version* (*)()>(dlsym(library, "dnnl_version")))
        return fmt::format("{}.{}.{}", version()->major, version()->minor, version()->patch);
  return "";
}

void examine_libraries(std::vector<Finding>& found) {
  Finding onednn{"libraries", "oneDNN", onednn_version(), ""};
  if (onednn.value.empty() && std::string_view(LATHE_BUILD) == "host")
    onednn.problem = "missing; --kernels handwritten runs without it: apt-get install libdnnl-dev";
  found.push_back(onednn);
  found.push_back({"libraries", "Eigen",
                   fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION),
                   ""});
  found.push_back(
      {"libraries", "Boost",
       fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100), ""});
#if defined(LIBJPEG_TURBO_VERSION)
#define LATHE_TEXT(x) #x
#define LATHE_TEXT_OF(x) LATHE_TEXT(x)
  found.push_back({"libraries", "libjpeg-turbo", LATHE_TEXT_OF(LIBJPEG_TURBO_VERSION), ""});
#else
  found.push_back(
      {"libraries", "libjpeg-turbo", "",
       "missing: stb decodes baseline JPEG only: apt-get install libjpeg62-turbo-dev && make build"});
#endif
  found.push_back({"libraries", "fmt",
                   fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100),
                   ""});
  found.push_back({"libraries", "nlohmann/json",
                   fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                               NLOHMANN_JSON_VERSION_PATCH),
                   ""});
}

// The CUDA driver's own entry points, so that the host build can look for a GPU too.
struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

  template <typename... Args>
  bool call(const char* name, Args... args) const {
    auto function = library ? reinterpret_cast<int (*)(Args...)>(dlsym(library, name)) : nullptr;
    return function && function(args...) == 0;
  }
};

std::string cudnn_version() {
  void* library = dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_LOCAL);
  auto version = library ? reinterpret_cast<size_t (*)()>(dlsym(library, "cudnnGetVersion")) : nullptr;
  return version ? fmt::format("{}.{}.{}", version() / 10000, version() / 100 % 100, version() % 100)
                 : "none";
}

// The path of a program on PATH, or in the toolkit's usual place.
std::string find_program(const std::string& name) {
  std::istringstream folders(std::string(std::getenv("PATH") ? std::getenv("PATH") : "") +
                             ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::string path = folder + "/" + name; !folder.empty() && access(path.c_str(), X_OK) == 0)
      return path;
  return "";
}

// "13.0" from `nvcc --version`.
std::string toolkit_version(const std::string& nvcc) {
  if (nvcc.find('\'') != std::string::npos) return "";
  FILE* pipe = popen(("'" + nvcc + "' --version 2>/dev/null").c_str(), "r");
  if (!pipe) return "";
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  pclose(pipe);
  size_t start = text.find("release "), end = text.find(',', start);
  return start == std::string::npos || end == std::string::npos
             ? ""
             : text.substr(start + 8, end - start - 8) + " ";
}

void examine_gpu(std::vector<Finding>& found) {
  const bool needed = std::string_view(LATHE_BUILD) == "cuda";
  Driver driver;
  int version = 0, count = 0;
  Finding loaded{"gpu", "driver", "", "", needed};
  if (!driver.library) {
    loaded.problem = needed ? "no NVIDIA driver (libcuda.so.1); make build makes the build for this CPU" : "";
    loaded.value = "none";
  } else if (driver.call("cuInit", 0U) && driver.call("cuDriverGetVersion", &version)) {
    loaded.value = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
    driver.call("cuDeviceGetCount", &count);
  } else {
    loaded.value = "does not start";
    loaded.problem = "the NVIDIA driver is there but does not start: nvidia-smi says why";
  }
  loaded.blocks_training = needed && !loaded.problem.empty();
  found.push_back(loaded);
  for (int i = 0; i < count; ++i) {
    int device = 0;
    char name[256] = "";
    size_t bytes = 0;
    if (driver.call("cuDeviceGet", &device, i) && driver.call("cuDeviceGetName", name, 255, device) &&
        driver.call("cuDeviceTotalMem_v2", &bytes, device))
      found.push_back({"gpu", fmt::format("device {}", i),
                       fmt::format("{}, {}", name, gib(static_cast<double>(bytes))), ""});
  }
  if (count == 0)
    found.push_back({"gpu", "devices", "none",
                     needed ? "this is the cuda build: make build makes the one for this CPU" : "", needed});
  std::string nvcc = find_program("nvcc");
  Finding toolkit{"gpu", "nvcc", nvcc.empty() ? "none" : toolkit_version(nvcc) + nvcc, ""};
  if (count > 0 && nvcc.empty())
    toolkit.problem =
        "a GPU, but no CUDA Toolkit (12.6 or newer): https://developer.nvidia.com/cuda-downloads, then make "
        "cuda";
  if (count > 0 && !needed && !nvcc.empty()) toolkit.problem = "a GPU, but this is the host build: make cuda";
  found.push_back(toolkit);
  found.push_back({"gpu", "cuDNN", cudnn_version(), ""});
}

}  // namespace

std::vector<Finding> examine_machine() {
  std::vector<Finding> found;
  examine_cpu(found);
  examine_space(found);
  found.push_back({"build", "lathe", LATHE_VERSION, ""});
  found.push_back({"build", "kind", LATHE_BUILD, ""});
  found.push_back({"build", "compiler", "g++ " __VERSION__, ""});
  examine_libraries(found);
  examine_gpu(found);
  return found;
}

int doctor(const DoctorConfig& config) {
  std::vector<Finding> found = examine_machine();
  bool ready = std::none_of(found.begin(), found.end(),
                            [](const Finding& f) { return f.blocks_training && !f.problem.empty(); });
  if (config.json) {
    nlohmann::ordered_json report = {{"ready", ready}};
    for (const Finding& f : found) {
      auto& entry = report[f.group][f.name];
      entry["value"] = f.value.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(f.value);
      if (!f.problem.empty()) entry["problem"] = f.problem;
    }
    std::string text = report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    for (std::string_view group : kGroups) {
      fmt::print("{}\n", group);
      for (const Finding& f : found)
        if (f.group == group) {
          fmt::print("  {:<16}{}\n", f.name, f.value.empty() ? "unknown" : f.value);
          if (!f.problem.empty()) fmt::print("  {:<16}! {}\n", "", f.problem);
        }
    }
    fmt::print("{}\n",
               ready ? "Training can run: lathe train" : "Training cannot run; see the lines with '!'");
  }
  return static_cast<int>(ready ? ExitCode::done : ExitCode::device);
}

}  // namespace lathe
