"""Sends itself half of a packet, and says how often the kernel has counted that the other half has not come."""
import socket
import struct
import time


def timeouts():
    names, values = (line.split() for line in open("/proc/net/snmp") if line.startswith("Ip:"))
    return int(values[names.index("ReasmTimeout")])


with open("/proc/sys/net/ipv4/ipfrag_time", "w") as seconds:
    seconds.write("1")
before = timeouts()
local = socket.inet_aton("127.0.0.1")
more_fragments, protocol = 0x2000, 253
header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 7, more_fragments, 64, protocol, 0, local, local)
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).sendto(header + bytes(8), ("127.0.0.1", 0))
for _ in range(100):
    time.sleep(0.1)
    if timeouts() > before:
        break
print("the kernel's", timeouts() - before)
