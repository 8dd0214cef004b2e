// Packets over a Unix socket of the type SOCK_SEQPACKET, with file descriptors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace sonde {

// A packet can carry this many descriptors at most.
constexpr size_t most_packet_descriptors = 8;

// Sends one packet. The receiver gets copies of the descriptors. `waits`: wait until the socket has room; otherwise
// fail with EAGAIN. Returns false on failure, with the reason in errno.
bool send_packet(int socket, std::string_view bytes, std::span<const int> descriptors, bool waits);

enum class PacketEnd : uint8_t { Packet, Nothing, Closed };
// Receives one packet of at most `most` bytes, without waiting. Nothing: no packet has arrived. Closed: the other end
// has closed the socket.
PacketEnd receive_packet(int socket, size_t most, std::string& bytes, std::vector<Fd>& descriptors);

} // namespace sonde
