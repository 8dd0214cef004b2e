"""Sends itself half of a packet, and one with an unknown protocol. Prints how often the kernel has counted each."""
import socket
import struct
import time

NAMES = ["ReasmTimeout", "InUnknownProtos"]


def counters():
    names, values = (line.split() for line in open("/proc/net/snmp") if line.startswith("Ip:"))
    return [int(values[names.index(name)]) for name in NAMES]


def send(flags):
    local, protocol = socket.inet_aton("127.0.0.1"), 253
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 7, flags, 64, protocol, 0, local, local)
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).sendto(header + bytes(8), ("127.0.0.1", 0))


with open("/proc/self/comm", "w") as name:
    name.write("ip_counters")  # other Python processes run in the same guest
with open("/proc/sys/net/ipv4/ipfrag_time", "w") as seconds:
    seconds.write("1")
before = counters()
more_fragments = 0x2000
send(more_fragments)
send(0)
for _ in range(100):
    time.sleep(0.1)
    if all(now > then for now, then in zip(counters(), before)):
        break
print("the kernel's", *(now - then for now, then in zip(counters(), before)))
