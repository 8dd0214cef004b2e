// Limits the connections of a server, so that clients cannot use up the file descriptors that the session needs.
// Connections above the limit are closed at once. A client that tries again later succeeds if other connections have
// ended meanwhile.
//
// libevent 2.1 has no such limit, and no callback for the end of a connection. So connections are counted in
// /proc/self/fd, as sockets on the server's own port, whenever a new one arrives. libevent may then accept any number
// of connections before the next count, so accepted() counts these.
#pragma once

#include <cstddef>

struct event;
struct event_base;
struct evconnlistener;

namespace sonde {

class ConnectionLimit {
  public:
    // Returns false if memory runs out. Call it before the event loop runs.
    bool begin(event_base* base, evconnlistener* listener);
    // Call it for each connection that libevent accepts.
    void accepted();
    // Call it before `base` is freed.
    void end();

  private:
    void look();
    size_t count() const;
    void set_closed(bool closed);

    evconnlistener* listener_ = nullptr;
    event* knock_ = nullptr; // a connection has arrived, or the pause is over
    int fd_ = -1;            // of the listener
    size_t most_ = 0;
    size_t room_ = 0; // for further connections
    bool is_closed_ = false;
};

} // namespace sonde
