// The control channel: framed requests over a Unix stream socket, one JSON reply each (PROTOCOL.md, "Transport").
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "error.h"
#include "json.h"
#include "problem.h"

namespace cm {

constexpr uint32_t kMaxText = 1u << 20;
constexpr uint32_t kMaxBlob = 64u << 20;

struct Request {
  std::vector<std::string> lines;
  /** Tokens of the first line: command, nonce, arguments. */
  std::vector<std::string> words;
  std::string blob;

  const std::string& nonce() const { return words[1]; }
  size_t argc() const { return words.size() - 2; }
  const std::string& arg(size_t i) const {
    if (i >= argc()) usage(words[0] + ": argument missing");
    return words[i + 2];
  }
  void expectArgs(size_t n) const {
    if (argc() != n) usage(words[0] + ": takes " + std::to_string(n) + " arguments, got " + std::to_string(argc()));
  }
};

struct Reply {
  JsonObject json;
  std::string blob;
};

using Handlers = std::map<std::string, std::function<Reply(const Request&)>>;

class Channel {
 public:
  /** Connects to PATH; throws CommandError("io"). */
  explicit Channel(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw CommandError("io", "socket path is too long: " + path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw CommandError("io", "connect " + path + ": " + std::strerror(errno));
  }

  /** One frame. false: the other side closed. Throws CommandError("usage") for a frame over the limits. */
  bool read(std::string& text, std::string& blob) {
    uint32_t sizes[2];
    if (!readAll(sizes, sizeof sizes)) return false;
    if (sizes[0] > kMaxText || sizes[1] > kMaxBlob)
      usage("frame over the limit: text " + std::to_string(sizes[0]) + ", blob " + std::to_string(sizes[1]) + " bytes");
    text.resize(sizes[0]);
    blob.resize(sizes[1]);
    return readAll(&text[0], text.size()) && readAll(&blob[0], blob.size());
  }

  bool write(const std::string& text, const std::string& blob) {
    const uint32_t sizes[2] = {uint32_t(text.size()), uint32_t(blob.size())};
    std::string frame(reinterpret_cast<const char*>(sizes), sizeof sizes);
    frame += text;
    frame += blob;
    for (size_t done = 0; done < frame.size();) {
      const ssize_t n = send(fd_, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += size_t(n);
    }
    return true;
  }

 private:
  bool readAll(void* into, size_t bytes) {
    char* p = static_cast<char*>(into);
    while (bytes > 0) {
      const ssize_t n = recv(fd_, p, bytes, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      p += n, bytes -= size_t(n);
    }
    return true;
  }
  int fd_ = -1;
};

namespace detail {

inline Request parseRequest(const std::string& text, std::string blob) {
  Request r;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    r.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  r.words = tokensOf(r.lines[0]);
  r.blob = std::move(blob);
  return r;
}

inline Reply failure(const std::string& code, const std::string& message) {
  Reply r;
  r.json.boolean("ok", false).text("error", code).text("message", message);
  return r;
}

inline bool isNonce(const std::string& s) {
  return s.size() == 16 && s.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

inline Reply dispatch(const Request& request, const Handlers& handlers) {
  if (request.words.size() < 2 || !isNonce(request.nonce())) return failure("usage", "COMMAND NONCE …, NONCE of 16 hex digits");
  const auto handler = handlers.find(request.words[0]);
  if (handler == handlers.end()) return failure("usage", "unknown command: " + request.words[0]);
  try {
    Reply answer = handler->second(request);
    answer.json = JsonObject().boolean("ok", true).joined(answer.json);
    return answer;
  } catch (const CommandError& e) {
    return failure(e.code, e.what());
  } catch (const std::bad_alloc&) {
    return failure("memory", "host memory exhausted");
  } catch (const std::exception& e) {
    return failure("usage", e.what());
  }
}

}  // namespace detail

/**
 * Answers requests until `quit` or the end of the stream, then leaves by _exit: destructors and atexit handlers of a
 * candidate never run. A frame over the limits is answered once and ends the program (code 2): the stream has no way back.
 */
[[noreturn]] inline void serve(const std::string& path, const Handlers& handlers) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    Channel channel(path);
    std::string text, blob;
    for (;;) {
      bool open = false;
      try {
        open = channel.read(text, blob);
      } catch (const CommandError& e) {
        channel.write(detail::failure(e.code, e.what()).json.text("nonce", "").str(), "");
        _exit(2);
      }
      if (!open) _exit(0);
      const Request request = detail::parseRequest(text, std::move(blob));
      const bool quit = !request.words.empty() && request.words[0] == "quit";
      Reply reply = quit ? Reply{JsonObject().boolean("ok", true), ""} : detail::dispatch(request, handlers);
      reply.json.text("nonce", request.words.size() > 1 ? request.nonce() : "");
      const bool sent = channel.write(reply.json.str(), reply.blob);
      if (quit || !sent) _exit(0);
    }
  } catch (const CommandError& e) {
    std::fprintf(stderr, "%s: %s\n", e.code.c_str(), e.what());
    _exit(2);
  }
}

}  // namespace cm
