// The one exception of the harness: becomes {"ok":false,"error":CODE,"message":…} in the reply.
#pragma once

#include <stdexcept>
#include <string>

namespace cm {

/** CODE of PROTOCOL.md: cuda, load, usage, memory, io, cupti. */
struct CommandError : std::runtime_error {
  CommandError(std::string code, const std::string& message) : std::runtime_error(message), code(std::move(code)) {}
  std::string code;
};

[[noreturn]] inline void usage(const std::string& message) { throw CommandError("usage", message); }

}  // namespace cm
