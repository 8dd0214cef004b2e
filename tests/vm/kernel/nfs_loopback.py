"""An NFS server on this machine and a mount of it, without daemons or tools: this file answers for mountd and the portmapper.
Performs all file operations of NFS clients, by version 3, and then by version 4, each time with its own server.
`wait`: in between, waits until the tracing script creates the file TOLD. Otherwise pauses.
"""
import ctypes
import fcntl
import mmap
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

CLIENT, EXPORTED, MOUNTED = "loopback", "/dev/shm/exported", "/dev/shm/mounted"
NEVER = 2**31 - 1
TOLD = "/dev/shm/told"
MNT_PORT = 20048


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def words(data, at=0):
    return struct.unpack_from(f"!{(len(data) - at) // 4}I", data, at)


def reply(call, answer):
    """The reply to a procedure call: accepted, without credentials, with this result."""
    return struct.pack("!6I", words(call)[0], 1, 0, 0, 0, 0) + answer


def serve(port, answer):
    """Answers remote procedure calls over TCP and UDP."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))

    def datagrams():
        while True:
            call, address = udp.recvfrom(4096)
            udp.sendto(reply(call, answer(call)), address)

    tcp = socket.create_server(("127.0.0.1", port))

    def records():
        while True:
            threading.Thread(target=record, args=(tcp.accept()[0],), daemon=True).start()

    def record(connection):
        while head := connection.recv(4, socket.MSG_WAITALL):
            call = connection.recv(words(head)[0] & 0x7FFFFFFF, socket.MSG_WAITALL)
            said = reply(call, answer(call))
            connection.sendall(struct.pack("!I", 0x80000000 | len(said)) + said)

    for part in datagrams, records:
        threading.Thread(target=part, daemon=True).start()


def export():
    """Exports to every client on this machine. The portmapper replies `true` to everything."""
    subprocess.run(["mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd"], check=True)
    serve(111, lambda call: struct.pack("!I", 1))
    write("/proc/fs/nfsd/versions", "+3 +4\n")
    # During this time, clients of an earlier server may reclaim their state, and nobody may open other files.
    write("/proc/fs/nfsd/nfsv4leasetime", "10\n")
    write("/proc/fs/nfsd/nfsv4gracetime", "10\n")


def start_server():
    write("/proc/net/rpc/auth.unix.ip/channel", f"nfsd 127.0.0.1 {NEVER} {CLIENT}\n")
    insecure_port, no_subtree_check, fsid = 0x2, 0x400, 0x2000
    flags = insecure_port | no_subtree_check | fsid
    write("/proc/net/rpc/nfsd.export/channel", f"{CLIENT} {EXPORTED} {NEVER} {flags} 65534 65534 0\n")
    write("/proc/net/rpc/nfsd.fh/channel", f"{CLIENT} 1 \\x00000000 {NEVER} {EXPORTED}\n")
    with socket.create_server(("127.0.0.1", 2049)) as listening:
        write("/proc/fs/nfsd/portlist", f"{listening.fileno()}\n")
    write("/proc/fs/nfsd/threads", "2\n")


def root_handle():
    with open("/proc/fs/nfsd/filehandle", "r+") as file:
        file.write(f"{CLIENT} {EXPORTED} 64\n")
        file.flush()
        return bytes.fromhex(file.read().strip().removeprefix("\\x"))


def mount(version):
    options = "proto=tcp,addr=127.0.0.1,port=2049"
    if version == 3:
        handle = root_handle()
        padded = handle + bytes(-len(handle) % 4)
        serve(MNT_PORT, lambda call: struct.pack("!2I", 0, len(handle)) + padded + struct.pack("!2I", 1, 1) if words(call)[5] == 1 else b"")
        options += f",vers=3,nolock,mountproto=tcp,mountaddr=127.0.0.1,mountport={MNT_PORT}"
        name, source = b"nfs", f"127.0.0.1:{EXPORTED}"
    else:
        options += ",vers=4.2,clientaddr=127.0.0.1"
        name, source = b"nfs4", "127.0.0.1:/"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), MOUNTED.encode(), name, 0, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    return libc


def drop_caches():
    write("/proc/sys/vm/drop_caches", "3\n")


def open_read(name, data):
    """Not from the cache: asks the server."""
    drop_caches()
    fd = os.open(name, os.O_RDWR)
    assert os.read(fd, len(data)) == data
    return fd


def work():
    data = b"0123456789" * 1000
    fd = os.open("first", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.mknod("plain", 0o600)
    fd = open_read("first", data)
    os.lseek(fd, 77, os.SEEK_SET)
    os.lseek(fd, 0, os.SEEK_DATA)
    fcntl.lockf(fd, fcntl.LOCK_EX, 50, 20)
    fcntl.lockf(fd, fcntl.LOCK_UN, 50, 20)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    with mmap.mmap(fd, 8192) as memory:
        memory[4096] = 65
        memory.flush()
    copy = os.open("copy", os.O_RDWR | os.O_CREAT, 0o644)
    reading, writing = os.pipe()
    os.sendfile(writing, fd, 0, 5000)
    os.splice(reading, copy, 5000)
    os.copy_file_range(fd, copy, 10000, 0, 0)
    os.close(copy)
    os.close(fd)
    fd = os.open("second", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, data)
    os.close(fd)
    # A part of a page that is not in the cache: it is read before, or written when another client reads it.
    drop_caches()
    fd = os.open("second", os.O_RDWR)
    os.pwrite(fd, b"abc", 4096 + 10)
    os.close(fd)
    drop_caches()
    reading, writing = os.open("second", os.O_RDONLY), os.open("second", os.O_WRONLY)
    os.pwrite(writing, b"def", 4096 + 20)
    assert os.pread(reading, 13, 4096 + 10) == b"abc" + data[4096 + 13:4096 + 20] + b"def"
    os.close(reading)
    os.close(writing)
    # More than one write can contain: the server may keep it in memory until it is told to commit.
    with open("large", "wb") as file:
        file.write(bytes(1 << 20))
    os.rename("first", "renamed")
    os.unlink("renamed")


def wait_until_told():
    """Waits until the tracing script creates a file: it has told what it saw of this server."""
    for _ in range(600):
        if os.path.exists(TOLD):
            return os.unlink(TOLD)
        time.sleep(0.1)
    sys.exit("the script has not told what it saw")


def main():
    os.makedirs(MOUNTED, exist_ok=True)
    export()
    for version in 3, 4:
        shutil.rmtree(EXPORTED, ignore_errors=True)
        os.makedirs(EXPORTED)
        start_server()
        libc = mount(version)
        os.chdir(MOUNTED)
        work()
        os.chdir("/")
        libc.umount2(MOUNTED.encode(), 0)
        write("/proc/fs/nfsd/threads", "0\n")
        if sys.argv[1:] == ["wait"]:
            wait_until_told()
        else:
            time.sleep(3)


if __name__ == "__main__":
    main()
