// Writing JSON: objects and arrays built field by field. Doubles print with 17 digits; what JSON cannot say becomes null.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cm {

inline std::string jsonString(const std::string& s) {
  std::string out = "\"";
  for (const char ch : s) {
    const unsigned char u = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\') {
      out += '\\', out += ch;
    } else if (u < 0x20 || u >= 0x7f) {  // names come from candidates: bytes outside ASCII are shown as Latin-1
      char b[8];
      std::snprintf(b, sizeof b, "\\u%04x", u);
      out += b;
    } else {
      out += ch;
    }
  }
  return out + "\"";
}

inline std::string jsonNumber(double v) {
  if (!std::isfinite(v)) return "null";
  char b[40];
  std::snprintf(b, sizeof b, "%.17g", v);
  return b;
}

/** A number, or "nan", "inf", "-inf" as a string. */
inline std::string jsonValue(double v) {
  if (std::isnan(v)) return "\"nan\"";
  if (std::isinf(v)) return v > 0 ? "\"inf\"" : "\"-inf\"";
  return jsonNumber(v);
}

class JsonObject {
 public:
  JsonObject& raw(const char* name, const std::string& json) {
    body_ += (body_.empty() ? "" : ",") + jsonString(name) + ":" + json;
    return *this;
  }
  JsonObject& text(const char* name, const std::string& v) { return raw(name, jsonString(v)); }
  JsonObject& number(const char* name, double v) { return raw(name, jsonNumber(v)); }
  JsonObject& integer(const char* name, int64_t v) { return raw(name, std::to_string(v)); }
  JsonObject& boolean(const char* name, bool v) { return raw(name, v ? "true" : "false"); }
  JsonObject& null(const char* name) { return raw(name, "null"); }
  /** Appends the fields of another object. */
  JsonObject& joined(const JsonObject& other) {
    if (!other.body_.empty()) body_ += (body_.empty() ? "" : ",") + other.body_;
    return *this;
  }
  std::string str() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

class JsonArray {
 public:
  JsonArray& add(const std::string& json) {
    body_ += (body_.empty() ? "" : ",") + json;
    return *this;
  }
  std::string str() const { return "[" + body_ + "]"; }

 private:
  std::string body_;
};

}  // namespace cm
