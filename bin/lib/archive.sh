# shellcheck shell=bash
# Archives of classes. Source this file after common.sh, where everything is built. Needs $here.

# Makes a class path for the JVMs that run tests and for the programs that these start, and two files that hold classes of
# it, parsed and linked, for the option -XX:AOTCache: one for JVMs that run tests, and one for programs, which have less to
# load, because a JVM loads all classes of its file when it starts. With them a command of ours starts in a third of the
# time, which matters in the emulated lab. Sets archived_classes to the class path, which may be continued, but not changed
# otherwise, and archive and program_archive to the files, or to nothing where there are none: nothing depends on them.
# $1 is a folder for what this makes, once for each JDK, and again when something has changed; $2 are jars, separated by
# colons; the others are folders with the classes of tests.
archive_classes() {
    local folder=$1 version
    archived_classes=$2
    archive=
    program_archive=
    shift 2
    # Where it takes longer to make them than they save.
    [ -z "${RDMA_TEST_WITHOUT_ARCHIVES:-}" ] || return 0
    # Older ones have no such option.
    version=$(jdk_version "$JAVA_HOME")
    [ "${version%%[^0-9]*}" -ge 25 ] || return 0
    mkdir -p "$folder"
    # Parts of a run that begin at the same time need it once.
    exec {archive_lock}>"$folder/archive.lock"
    ! command -v flock >/dev/null || flock "$archive_lock"
    if make_jars "$@"; then
        if make_archive "$folder/tests-$version.aot" org.junit.platform.console.ConsoleLauncher execute \
            --select-class=org.rdmapanama.samples.Training --fail-if-no-tests --disable-banner; then
            archive=$folder/tests-$version.aot
        fi
        if make_archive "$folder/programs-$version.aot" org.rdmapanama.samples.ProgramTraining; then
            program_archive=$folder/programs-$version.aot
        fi
    fi >"$folder/archives.log" 2>&1
    if [ -z "$archive" ] || [ -z "$program_archive" ]; then
        note "could not make archives of classes, so JVMs start more slowly: see $folder/archives.log"
    fi
    exec {archive_lock}>&-
}

# The same for the class path of the integration tests, which has all modules. Sets jars to those that the archive begins
# with, and tests to the folders that belong behind archived_classes.
archive_tests() {
    local module folders
    tests=
    for module in "${maven_modules[@]}"; do
        if [ -d "${here:?}/$module/target/test-classes" ]; then
            tests+=${tests:+:}$here/$module/target/test-classes
        fi
    done
    # A listener of the tests puts cards into the JVM, if one is asked for.
    tests+=:$here/cards/target/classes
    # The JVMs that the tests start get the same class path. An archive of classes fits class paths that begin with its jars.
    jars=$(<"$here/samples/target/test-classpath.txt"):$here/samples/target/modules/rdma-samples.jar
    jars+=:$here/bench/target/modules/rdma-bench.jar
    mapfile -t folders < <(tr : '\n' <<<"$tests")
    archive_classes "$here/target" "$jars" "${folders[@]}"
}

# The two steps of archive_classes, with its variables. A new file replaces the old one at once, because another run may be using that.

# Adds a jar of the tests, since an archive has no classes of folders, and replaces the jar of picocli, since an archive has
# no classes of Java 5 either.
make_jars() {
    local tests=$folder/tests.jar old modern classes contents=()
    if [ ! -e "$tests" ] || [ -n "$(find "$@" -newer "$tests" -print -quit)" ]; then
        for classes in "$@"; do
            contents+=(-C "$classes" .)
        done
        "$JAVA_HOME/bin/jar" --create --no-compress --file "$tests.$$" "${contents[@]}" || return 1
        mv "$tests.$$" "$tests"
    fi
    old=$(tr : '\n' <<<"$archived_classes" | grep '/picocli-[^/]*\.jar$') || return 1
    modern=$folder/${old##*/}
    if [ ! "$modern" -nt "$old" ]; then
        "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 "$here/lab/RaiseClassVersion.java" "$old" "$modern.$$" || return 1
        mv "$modern.$$" "$modern"
    fi
    archived_classes=${archived_classes/"$old"/"$modern"}:$tests
}

# Makes the archive $1 of what a JVM loads and links that runs the main class and the arguments which follow.
make_archive() {
    local new=$1
    shift
    # shellcheck disable=SC2086 # one word each
    if [ -e "$new" ] && [ -z "$(find ${archived_classes//:/ } -newer "$new" -print -quit)" ]; then
        return 0
    fi
    # With the first compiler only: this takes half the time, and the archive then holds no profiles, which would make a JVM with
    # both compilers spend twice as long in the second one while it starts. Without machine code: JVMs of JDK 25.0.3 complain of
    # it at every start.
    RDMA_DEVICE=soft0 "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "-XX:AOTCacheOutput=$new.$$" \
        -XX:+UnlockDiagnosticVMOptions -XX:-AOTAdapterCaching -XX:-AOTStubCaching \
        --enable-native-access=ALL-UNNAMED -cp "$archived_classes" "$@" &&
        mv "$new.$$" "$new"
}
