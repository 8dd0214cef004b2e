// How many connections a server may have at once: so many that readers never take the descriptors that the session
// needs. Those beyond are closed at once; who comes a moment later, when idle ones have been left, is served.
//
// libevent 2.1 knows no such limit and does not tell of connections that end, so the connections are counted where the
// kernel has them, as sockets of the server's own port, whenever somebody is at the door.
#pragma once

#include <cstddef>

struct event;
struct event_base;
struct evconnlistener;

namespace sonde {

class ConnectionLimit {
  public:
    // False: there is no memory. Before the base's loop runs.
    bool begin(event_base* base, evconnlistener* listener);
    // Before the base is freed.
    void end();

  private:
    void look();
    size_t count() const;

    evconnlistener* listener_ = nullptr;
    event* knock_ = nullptr; // somebody is at the door, or a moment has passed
    int fd_ = -1;            // the listener's
    size_t most_ = 0;
    bool is_closed_ = false;
};

} // namespace sonde
