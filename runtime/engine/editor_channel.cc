#include "runtime/engine/editor_channel.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/plan/kinds.h"

namespace sonde {

bool send_editor_packet(int socket, const EditorPacket& packet, const std::string& text, bool waits,
                        const std::vector<int>& descriptors) {
    std::string bytes(reinterpret_cast<const char*>(&packet), sizeof packet);
    bytes += std::string_view(text).substr(0, most_editor_text);
    return send_packet(socket, bytes, descriptors, waits);
}

PacketEnd receive_editor_packet(int socket, EditorPacket& packet, std::string& text, std::vector<Fd>& descriptors) {
    std::string bytes;
    const PacketEnd end = receive_packet(socket, sizeof packet + most_editor_text, bytes, descriptors);
    if (end != PacketEnd::Packet)
        return end;
    if (bytes.size() < sizeof packet)
        return PacketEnd::Closed;
    std::memcpy(&packet, bytes.data(), sizeof packet);
    text = bytes.substr(sizeof packet);
    return end;
}

std::vector<ScriptProbe> find_script_probes(const plan::Plan& plan) {
    std::vector<ScriptProbe> out;
    for (size_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        auto same = std::ranges::find(out, probe.place, &ScriptProbe::place);
        if (same == out.end()) {
            out.push_back({.place = probe.place, .point = probe.points.empty() ? probe.name : probe.points[0].pn});
            same = out.end() - 1;
        }
        same->points += probe.points.size();
        same->indexes.push_back(i);
        const plan::Mechanism mechanism = plan::traits(probe.kind).mechanism;
        same->is_removable &= mechanism != plan::Mechanism::TaskEvents && mechanism != plan::Mechanism::Watchpoint;
    }
    return out;
}

} // namespace sonde
