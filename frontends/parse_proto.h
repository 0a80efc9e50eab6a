// Protobuf messages from untrusted bytes.
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace spmd {

// Throws UserError(source, ...) when the bytes are damaged, truncated or too many; `what` is "HLO
// module" and the like. Says nothing on the standard error output.
void parse_proto(google::protobuf::Message& message, std::string_view bytes,
                 const std::string& source, const char* what);

template <typename Message>
const Message& parse_proto(google::protobuf::Arena& arena, std::string_view bytes,
                           const std::string& source, const char* what) {
  auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena);
  parse_proto(*message, bytes, source, what);
  return *message;
}

}  // namespace spmd
