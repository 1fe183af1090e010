// Nothing that a header says is used before it is checked against the file's real size.
#include "engine/runtime/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace fs = std::filesystem;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensor bytes are copied as they are");

namespace {

struct Dtype {
  std::string_view name;
  int64_t bytes;
};
// In the order of the reference implementation, which stores tensors from the last to the first.
constexpr std::array<Dtype, 13> kDtypes = {{{"BOOL", 1},
                                            {"U8", 1},
                                            {"I8", 1},
                                            {"I16", 2},
                                            {"U16", 2},
                                            {"F16", 2},
                                            {"BF16", 2},
                                            {"I32", 4},
                                            {"U32", 4},
                                            {"F32", 4},
                                            {"F64", 8},
                                            {"I64", 8},
                                            {"U64", 8}}};
constexpr uint64_t kMostHeaderBytes = 100'000'000;  // as the reference
constexpr size_t kMostDimensions = 64;

size_t dtype_rank(std::string_view name) {
  return static_cast<size_t>(std::ranges::find(kDtypes, name, &Dtype::name) - kDtypes.begin());
}

// Bytes of a tensor, nothing where the product does not fit in 64 bits.
std::optional<int64_t> tensor_bytes(const std::vector<int64_t>& shape, int64_t element) {
  int64_t total = element;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(total, extent, &total)) return std::nullopt;
  }
  return total;
}

// One file being opened; says what is wrong with it and where.
class Header {
 public:
  Header(std::string path, std::span<const std::byte> file) : path_(std::move(path)), file_(file) {}

  void read(std::map<std::string, TensorView>& tensors, std::map<std::string, std::string>& metadata) {
    const json header = parse();
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(entry, metadata);
      } else {
        tensors.emplace(name, read_tensor(name, entry));
      }
    }
    check_contiguous();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::data, fmt::format("{}: not a valid safetensors file: {}", printable(path_), what));
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& what) const {
    fail(fmt::format("tensor \"{}\": {}", printable(tensor), what));
  }

  json parse() {
    uint64_t length = 0;
    if (file_.size() < sizeof length) fail("shorter than 8 bytes");
    std::memcpy(&length, file_.data(), sizeof length);
    if (length > kMostHeaderBytes)
      fail(fmt::format("header of {} bytes (at most {})", length, kMostHeaderBytes));
    if (length > file_.size() - sizeof length) {
      fail(fmt::format("header of {} bytes in a file of {}", length, file_.size()));
    }
    const char* text = reinterpret_cast<const char*>(file_.data()) + sizeof length;
    if (length == 0 || *text != '{') fail("the header does not start with '{'");
    if (std::memchr(text, 0, length) != nullptr)
      fail("the header holds a zero byte");  // the parser would stop there
    data_ = file_.subspan(sizeof length + length);

    // The parser keeps the last of repeated keys without a word, and builds whatever is nested: both are
    // stopped here, as the text is read.
    std::set<std::string> names;
    std::set<std::string> fields;
    size_t values = 0;
    const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
      if (depth > 3) fail("the header is nested too deeply");
      if (event == json::parse_event_t::object_start) fields.clear();
      if (event == json::parse_event_t::array_start) values = 0;
      if (event == json::parse_event_t::value && depth == 3 && ++values > kMostDimensions)
        fail("an array is too long");
      if (event == json::parse_event_t::key) {
        if (!(depth == 1 ? names : fields).insert(parsed.get<std::string>()).second) {
          fail(fmt::format("repeated key \"{}\"", printable(parsed.get<std::string>())));
        }
      }
      return true;
    };
    try {
      return json::parse(text, text + length, check);
    } catch (const json::parse_error& error) {
      fail(fmt::format("the header is not JSON (at its byte {})", error.byte));
    } catch (const json::exception&) {
      fail("the header is not JSON");
    }
  }

  void read_metadata(const json& entry, std::map<std::string, std::string>& metadata) const {
    if (!entry.is_object()) fail("__metadata__ is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) fail(fmt::format("__metadata__ \"{}\" is not a string", printable(key)));
      metadata.emplace(key, value.get<std::string>());
    }
  }

  // `entry[key]`: an array of counts that fit in int64.
  std::vector<int64_t> read_counts(const std::string& name, const json& entry, const char* key) const {
    const auto array = entry.find(key);
    if (array == entry.end() || !array->is_array()) fail(name, fmt::format("{} is not an array", key));
    std::vector<int64_t> counts;
    for (const json& value : *array) {
      if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) {
        fail(name, fmt::format("{} holds something else than counts", key));
      }
      counts.push_back(value.get<int64_t>());
    }
    return counts;
  }

  TensorView read_tensor(const std::string& name, const json& entry) {
    if (!entry.is_object() || entry.size() != 3)
      fail(name, "needs dtype, shape and data_offsets, and no more");
    const auto dtype = entry.find("dtype");
    if (dtype == entry.end() || !dtype->is_string()) fail(name, "dtype is not a string");
    TensorView tensor{name, dtype->get<std::string>(), read_counts(name, entry, "shape"), {}};
    const int64_t element = element_bytes(tensor.dtype);
    if (element == 0) fail(name, fmt::format("unknown dtype \"{}\"", printable(tensor.dtype)));
    const std::vector<int64_t> offsets = read_counts(name, entry, "data_offsets");
    if (offsets.size() != 2) fail(name, "data_offsets is not a pair");
    const int64_t begin = offsets[0], end = offsets[1];
    if (end < begin || static_cast<uint64_t>(end) > data_.size()) {
      fail(name, fmt::format("data_offsets [{}, {}] outside the {} bytes of data", begin, end, data_.size()));
    }
    const std::optional<int64_t> needed = tensor_bytes(tensor.shape, element);
    if (!needed) fail(name, fmt::format("shape [{}] is too large", fmt::join(tensor.shape, ", ")));
    if (*needed != end - begin) {
      fail(name, fmt::format("{} of shape [{}] needs {} bytes, data_offsets give {}", tensor.dtype,
                             fmt::join(tensor.shape, ", "), *needed, end - begin));
    }
    tensor.bytes = data_.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    extents_.push_back({begin, end, name});
    return tensor;
  }

  void check_contiguous() {
    std::ranges::sort(extents_, {}, [](const Extent& e) { return std::pair(e.begin, e.end); });
    int64_t expected = 0;
    for (const Extent& extent : extents_) {
      if (extent.begin != expected) {
        fail(extent.name,
             fmt::format("data starts at {}, expected {} (a hole or an overlap)", extent.begin, expected));
      }
      expected = extent.end;
    }
    if (static_cast<uint64_t>(expected) != data_.size()) {
      fail(fmt::format("the tensors cover {} of {} bytes of data", expected, data_.size()));
    }
  }

  struct Extent {
    int64_t begin, end;
    std::string name;
  };
  std::string path_;
  std::span<const std::byte> file_, data_;
  std::vector<Extent> extents_;
};

// The mapped file; unmapped with the last copy of `owner`.
std::span<const std::byte> map_file(const fs::path& path, std::shared_ptr<const std::byte>& owner) {
  const auto fail = [&](const std::string& cause) {
    throw Error(ExitCode::failure, fmt::format("{}: cannot read: {}", printable(path.string()), cause));
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not hang us
  if (fd < 0) fail(std::generic_category().message(errno));
  const std::shared_ptr<void> closer(nullptr, [fd](void*) { ::close(fd); });
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail(std::generic_category().message(errno));
  if (!S_ISREG(info.st_mode)) fail("not a regular file");
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return {};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) fail(std::generic_category().message(errno));
  owner.reset(static_cast<const std::byte*>(address),
              [address, size](const std::byte*) { ::munmap(address, size); });
  return {owner.get(), size};
}

std::string quoted(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw Error(ExitCode::failure, fmt::format("safetensors: \"{}\" is not UTF-8", printable(text)));
  }
}

void check_tensor(const TensorView& tensor) {
  const auto fail = [&](const std::string& what) {
    throw Error(ExitCode::failure,
                fmt::format("safetensors: tensor \"{}\": {}", printable(tensor.name), what));
  };
  const int64_t element = element_bytes(tensor.dtype);
  if (tensor.name == "__metadata__") fail("this name is reserved");
  if (element == 0) fail(fmt::format("unknown dtype \"{}\"", printable(tensor.dtype)));
  if (tensor.shape.size() > kMostDimensions) fail("too many dimensions");
  const std::optional<int64_t> needed = tensor_bytes(tensor.shape, element);
  if (!needed || static_cast<uint64_t>(*needed) != tensor.bytes.size()) {
    fail(fmt::format("{} bytes do not make {} of shape [{}]", tensor.bytes.size(), tensor.dtype,
                     fmt::join(tensor.shape, ", ")));
  }
}

template <typename T>
void append_as_floats(std::span<const std::byte> bytes, std::vector<float>& out) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    out.push_back(static_cast<float>(value));
  }
}

struct BFloat16 {
  uint16_t bits;
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace

int64_t element_bytes(std::string_view dtype) {
  const size_t rank = dtype_rank(dtype);
  return rank < kDtypes.size() ? kDtypes[rank].bytes : 0;
}

SafetensorsFile SafetensorsFile::open(const fs::path& path) {
  SafetensorsFile file;
  file.path_ = path.string();
  const std::span<const std::byte> bytes = map_file(path, file.mapping_);
  Header(file.path_, bytes).read(file.tensors_, file.metadata_);
  return file;
}

const TensorView& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error(ExitCode::data, fmt::format("{}: no tensor \"{}\" in it", printable(path_), printable(name)));
  }
  return found->second;
}

void write_safetensors(const fs::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata, const CopyBytes& copy) {
  std::ranges::for_each(tensors, check_tensor);
  std::ranges::sort(tensors, [](const TensorView& a, const TensorView& b) {
    const size_t a_rank = dtype_rank(a.dtype), b_rank = dtype_rank(b.dtype);
    return a_rank != b_rank ? a_rank > b_rank : a.name < b.name;
  });
  std::set<std::string> names;
  std::string header;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(quoted(key) + ":" + quoted(value));
    header = fmt::format("\"__metadata__\":{{{}}}", fmt::join(pairs, ","));
  }
  size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      throw Error(ExitCode::failure,
                  fmt::format("safetensors: tensor \"{}\" given twice", printable(tensor.name)));
    }
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          header.empty() ? "" : ",", quoted(tensor.name), tensor.dtype,
                          fmt::join(tensor.shape, ","), offset, offset + tensor.bytes.size());
    offset += tensor.bytes.size();
  }
  header = "{" + header + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // so that the data is 8-aligned
  if (header.size() > kMostHeaderBytes)
    throw Error(ExitCode::failure, "safetensors: too many tensors for one file");

  const uint64_t length = header.size();
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  constexpr size_t kPiece = size_t{4} << 20;
  std::vector<std::byte> piece;
  for (const TensorView& tensor : tensors) {
    if (!copy) file.write(tensor.bytes);
    for (size_t at = 0; copy && at < tensor.bytes.size(); at += kPiece) {
      piece.resize(std::min(kPiece, tensor.bytes.size() - at));
      copy(tensor, at, piece);
      file.write(piece);
    }
  }
  file.commit();
}

std::vector<float> to_floats(const TensorView& tensor) {
  std::vector<float> values;
  const int64_t element = element_bytes(tensor.dtype);
  if (element > 0) values.reserve(tensor.bytes.size() / static_cast<size_t>(element));
  if (tensor.dtype == "F32") {
    append_as_floats<float>(tensor.bytes, values);
  } else if (tensor.dtype == "F16") {
    append_as_floats<_Float16>(tensor.bytes, values);
  } else if (tensor.dtype == "BF16") {
    append_as_floats<BFloat16>(tensor.bytes, values);
  } else if (tensor.dtype == "F64") {
    append_as_floats<double>(tensor.bytes, values);
  } else {
    throw Error(ExitCode::data, fmt::format("tensor \"{}\" is {}, not a floating-point type",
                                            printable(tensor.name), printable(tensor.dtype)));
  }
  return values;
}

}  // namespace lathe
