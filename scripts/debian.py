"""Packages of Debian for another release or processor than this machine's, from the mirror that apt uses here.

apt keeps its state in a folder of ours, so that this machine's packages, sources and architectures do not change. apt checks the signatures.
"""
import glob
import os
import re
import subprocess
import sys

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def run(*argv, **options):
    return subprocess.run(argv, check=True, text=True, **{"stdout": sys.stderr, **options}).stdout


def own_suites():
    """Pairs of suite and address: this machine's release, its updates and its security updates."""
    release = re.search(r'VERSION_CODENAME="?(\w+)', open("/etc/os-release").read())[1]
    known = run("apt-get", "indextargets", "--no-release-info", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages",
                stdout=subprocess.PIPE)
    return sorted(set(re.findall(rf"^({release}(?:-updates|-security)?) (\S+)$", known, re.M))), release


class Packages:
    """apt with its state in the folder `state`. `suites`: other releases on the mirror, in addition to this machine's."""

    def __init__(self, state, architecture, suites=(), updates=False):
        own, release = own_suites()
        if not own:
            sys.exit(f"apt has no source for {release}: a source of packages from Debian's mirror is needed")
        mirror = dict(own).get(release, own[0][1])
        sources = {suite: address for suite, address in own if updates or suite == release}
        sources |= {suite: mirror for suite in suites}
        self.state = state
        for folder in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(state, folder))
        with open(state + "/list", "w") as file:
            file.writelines(f"deb [signed-by={KEYRING}] {address} {suite} main\n" for suite, address in sources.items())
        with open(state + "/conf", "w") as file:
            for name, value in {"Dir::Etc::sourcelist": state + "/list", "Dir::Etc::sourceparts": "/dev/null", "Dir::Etc::preferences": "/dev/null",
                                "Dir::Etc::preferencesparts": "/dev/null", "Dir::State": state, "Dir::State::Lists": state + "/lists",
                                "Dir::State::status": "/dev/null", "Dir::Cache": state + "/cache", "APT::Sandbox::User": "root",
                                "APT::Architecture": architecture, "APT::Architectures": architecture, "APT::Install-Recommends": "false",
                                "Debug::NoLocking": "true", "quiet": "2"}.items():
                file.write(f'{name} "{value}";\n')
        # Files that are read earlier could add architectures.
        self.environment = {**os.environ, "APT_CONFIG": state + "/conf", "DEBIAN_FRONTEND": "noninteractive"}
        self.apt("apt-get", "update")

    def apt(self, *argv, **options):
        return run(*argv, env=self.environment, cwd=self.state + "/cache/archives", stdin=subprocess.DEVNULL, **options)

    def ask(self, *argv):
        """What apt-cache answers."""
        return self.apt("apt-cache", *argv, stdout=subprocess.PIPE)

    def unpack(self, into, *packages, dependencies=False, only=()):
        """Unpacks the packages, or the files that match `only`; with their dependencies if asked."""
        if dependencies:
            self.apt("apt-get", "install", "--download-only", "--yes", *packages)
        else:
            self.apt("apt-get", "download", *packages)
        for package in sorted(glob.glob(self.state + "/cache/archives/*.deb")):
            files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
            run("tar", "-x", "--keep-directory-symlink", "-C", into, "--wildcards", *only, stdin=files.stdout)
            if files.wait() != 0:
                sys.exit(f"dpkg-deb cannot unpack {package}")
            os.remove(package)


def merged_root(folder):
    """A root file system's first folders, as since the merge of /usr."""
    for name in ("bin", "lib", "sbin"):
        os.makedirs(f"{folder}/usr/{name}")
        os.symlink("usr/" + name, f"{folder}/{name}")
