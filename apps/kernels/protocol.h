// The lines that lathe and lathe_traced exchange: one JSON object each (child.h), and hostcuda's structs in
// them. A kernel's trace is {"kernel", "grid", "block", …, "figures", "lines", "findings"} with trace.h's
// names.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <concepts>
#include <nlohmann/json.hpp>
#include <string>

#include "hostcuda/trace/trace.h"

namespace lathe {

constexpr int kProtocol = 2;  // to be raised when a field changes its meaning
constexpr int kEvents = 3;    // the descriptor that lines go to: stdout is for what kernels print

// In the child: writes one line at once. Ends the process where nobody reads it.
inline void send(const std::string& event, nlohmann::json fields = nlohmann::json::object()) {
  fields["v"] = kProtocol;
  fields["event"] = event;
  std::string line = fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t written = ::write(kEvents, line.data() + done, line.size() - done);
    if (written < 0 && errno != EINTR) ::_exit(1);
    done += static_cast<size_t>(written < 0 ? 0 : written);
  }
}

}  // namespace lathe

// In the namespaces of the structs, where nlohmann looks for them.
template <typename Json>
void to_json(Json& j, const dim3& d) {
  j = Json::array({d.x, d.y, d.z});
}
template <typename Json>
void from_json(const Json& j, dim3& d) {
  d = dim3(j.at(0), j.at(1), j.at(2));
}
template <typename Json>
void to_json(Json& j, const uint3& v) {
  j = Json::array({v.x, v.y, v.z});
}
template <typename Json>
void from_json(const Json& j, uint3& v) {
  v.x = j.at(0), v.y = j.at(1), v.z = j.at(2);
}

namespace hostcuda::trace {

NLOHMANN_JSON_SERIALIZE_ENUM(Kind, {{Kind::other, "other"},
                                    {Kind::race, "race"},
                                    {Kind::uninitialised, "uninitialised"},
                                    {Kind::out_of_bounds, "out of bounds"},
                                    {Kind::misaligned, "misaligned"},
                                    {Kind::unfinished_copy, "unfinished copy"},
                                    {Kind::divergent_barrier, "divergent barrier"},
                                    {Kind::wrong_warp_operation, "wrong warp operation"}})

template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

// Calls visit(name, member) for each member, so that reading and writing cannot differ.
void visit_fields(Is<Traffic> auto& t, auto visit) {
  visit("requests", t.requests), visit("lanes", t.lanes), visit("bytes", t.bytes);
  visit("moved", t.moved), visit("ideal", t.ideal);
}
void visit_fields(Is<Figures> auto& f, auto visit) {
  visit("global_load", f.global_load), visit("global_store", f.global_store);
  visit("shared_load", f.shared_load), visit("shared_store", f.shared_store), visit("atomics", f.atomics);
}
void visit_fields(Is<Line> auto& l, auto visit) {
  visit("file", l.file), visit("line", l.line), visit("figures", l.figures);
}
void visit_fields(Is<Finding> auto& f, auto visit) {
  visit("kind", f.kind), visit("message", f.message), visit("file", f.file), visit("line", f.line);
  visit("block", f.block), visit("thread", f.thread), visit("count", f.count);
}
void visit_fields(Is<KernelTrace> auto& k, auto visit) {
  visit("kernel", k.kernel), visit("grid", k.grid), visit("block", k.block);
  visit("dynamic_shared_bytes", k.dynamic_shared_bytes), visit("static_shared_bytes", k.static_shared_bytes);
  visit("launches", k.launches), visit("blocks", k.blocks), visit("threads", k.threads);
  visit("barriers", k.barriers), visit("warp_barriers", k.warp_barriers);
  visit("idle_lanes", k.idle_lanes), visit("unpaired", k.unpaired);
  visit("figures", k.figures), visit("lines", k.lines), visit("findings", k.findings);
}

template <typename T>
concept Described = requires(T& t) {
  visit_fields(t, [](const char*, auto&) {});
};

template <typename Json, Described T>
void to_json(Json& j, const T& value) {
  j = Json::object();
  visit_fields(value, [&](const char* name, const auto& member) { j[name] = member; });
}
template <typename Json, Described T>
void from_json(const Json& j, T& value) {
  visit_fields(value, [&](const char* name, auto& member) { j.at(name).get_to(member); });
}

}  // namespace hostcuda::trace
