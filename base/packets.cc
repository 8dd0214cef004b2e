#include "base/packets.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace sonde {
namespace {

struct DescriptorSpace {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_packet_descriptors * sizeof(int))> bytes{};
};

} // namespace

bool send_packet(int socket, std::string_view bytes, std::span<const int> descriptors, bool waits) {
    CHECK(descriptors.size() <= most_packet_descriptors);
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    DescriptorSpace space;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = space.bytes.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    for (;;) {
        if (sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)) >= 0)
            return true;
        if (errno != EINTR)
            return false;
    }
}

PacketEnd receive_packet(int socket, size_t most, std::string& bytes, std::vector<Fd>& descriptors) {
    descriptors.clear();
    bytes.resize(most);
    iovec part{bytes.data(), bytes.size()};
    DescriptorSpace space;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.bytes.data();
    message.msg_controllen = space.bytes.size();
    ssize_t got = 0;
    do
        got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    if (got <= 0)
        return got < 0 && errno == EAGAIN ? PacketEnd::Nothing : PacketEnd::Closed;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        std::array<int, most_packet_descriptors> numbers{};
        const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::memcpy(numbers.data(), CMSG_DATA(header), count * sizeof(int));
        for (size_t i = 0; i < count; i++)
            descriptors.emplace_back(numbers[i]);
    }
    return PacketEnd::Packet;
}

} // namespace sonde
