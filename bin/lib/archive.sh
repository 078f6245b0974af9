# shellcheck shell=bash
# Archives of classes. Source this file after common.sh.

# Prints the name of a file in folder $1 that holds the classes of the jars in class path $2, parsed and linked, for option
# -XX:AOTCache. JVMs start faster with it, which matters in the emulated lab. Makes the file once for each JDK, and again
# when a jar is newer. Prints nothing where there is no such file: nothing depends on it.
class_archive() {
    local version archive
    version=$(jdk_version "$JAVA_HOME")
    # Older ones have no such option.
    [ "${version%%[!0-9]*}" -ge 25 ] || return 0
    archive=$1/classes-$version.aot
    # shellcheck disable=SC2086 # one word each
    if [ ! -e "$archive" ] || [ -n "$(find ${2//:/ } -newer "$archive" -print -quit)" ]; then
        mkdir -p "$1"
        # The first sample loads most of what every command needs. The new file replaces the old one at once, because
        # another run may be using that.
        if ! RDMA_DEVICE=soft0 "$JAVA_HOME/bin/java" -XX:+UseSerialGC "-XX:AOTCacheOutput=$archive.$$" \
            --enable-native-access=ALL-UNNAMED -cp "$2" org.rdmapanama.samples.Rdma hello >"$archive.log" 2>&1 ||
            [ ! -e "$archive.$$" ]; then
            note "could not make an archive of classes, so JVMs start more slowly: see $archive.log"
            return 0
        fi
        mv "$archive.$$" "$archive"
    fi
    echo "$archive"
}
