# For scripts/build and scripts/package: reads the option `--arch ARCHITECTURE` from the arguments. Sets `architecture` (empty for this machine's),
# `suffix` (of the build folder) and `rest` (the other arguments). prepare_cross_build prepares a build for another architecture, and sets `cross`
# (CMake's options).
architecture='' suffix='' cross=() rest=()

# The name in Debian's words, by which folders and packages are named. Fails if sonde does not support it.
debian_architecture() {
    case $1 in
    x86_64 | amd64) echo amd64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) return 1 ;;
    esac
}

wrong_arguments() {
    echo "scripts/${0##*/}: $1" >&2
    exit 2
}

while (($#)); do
    case $1 in
    --arch)
        (($# > 1)) || wrong_arguments "--arch needs an architecture: x86_64 or arm64"
        architecture=$(debian_architecture "$2") || wrong_arguments "--arch $2: sonde does not support this architecture; it supports x86_64 and arm64"
        shift
        ;;
    *) rest+=("$1") ;;
    esac
    shift
done
machine=$(debian_architecture "$(uname -m)") || wrong_arguments "this machine is $(uname -m), which sonde does not support; it supports x86_64 and arm64"
case $machine/$architecture in
*/ | amd64/amd64 | arm64/arm64) architecture= ;;
amd64/arm64) suffix=-$architecture ;;
*) wrong_arguments "--arch $architecture: on $machine you can build only for $machine; run this command on a machine of that architecture" ;;
esac

prepare_cross_build() {
    if [[ $architecture ]]; then
        scripts/setup --cross
        local sysroot
        sysroot=$(scripts/sysroot "$architecture")
        cross=(--toolchain packaging/cross.cmake -DSONDE_CROSS=aarch64 -DSONDE_SYSROOT="$sysroot")
    fi
}
