# shellcheck shell=bash
# Small helpers for the scripts in bin/. Source this file; it runs nothing by itself.
# It must work with bash 3.2, the version of macOS.

# The prefix of every message: the name of the script that sourced this file.
me=${0##*/}

note() { printf '%s: %s\n' "$me" "$*" >&2; }

die() {
    note "$*"
    exit 1
}

# Prints the version of the JDK in directory $1 ("25.0.3"), or nothing if there is no JDK. Reads the JDK's `release`
# file, because starting a JVM just to ask it takes a hundred times longer.
jdk_version() {
    [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 0
    sed -n 's/^JAVA_VERSION="\(.*\)"$/\1/p' "$1/release"
}

# True if the JDK in directory $1 is version 22 or newer.
jdk_is_new_enough() {
    local version major
    version=$(jdk_version "$1")
    major=${version%%[!0-9]*}
    [ -n "$major" ] && [ "$major" -ge 22 ]
}

# Sets and exports JAVA_HOME to a JDK that is new enough: the one it already names, else the one on PATH, else the
# newest in the usual directories.
find_jdk() {
    local home java newest

    if [ -n "${JAVA_HOME:-}" ] && jdk_is_new_enough "$JAVA_HOME"; then
        export JAVA_HOME
        return
    fi

    if java=$(command -v java) && java=$(readlink -f "$java"); then
        home=${java%/bin/java}
        if jdk_is_new_enough "$home"; then
            export JAVA_HOME=$home
            return
        fi
    fi

    newest=$(
        for home in /usr/lib/jvm/* /opt/* ~/.sdkman/candidates/java/* ~/.jdks/* \
            /Library/Java/JavaVirtualMachines/*/Contents/Home; do
            if jdk_is_new_enough "$home"; then
                printf '%s\t%s\n' "$(jdk_version "$home")" "$home"
            fi
        done | sort -V | tail -n 1
    )
    [ -n "$newest" ] || die "rdma-panama needs a JDK 22 or newer and found none: install one, or set JAVA_HOME to it"
    export JAVA_HOME=${newest#*$'\t'}
}

# Runs a command as root, directly or through sudo without a password. Call may_be_root first.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

may_be_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

# Runs apt-get as root and shows its output only if it fails. Waits while another process holds apt's lock.
quiet_apt_get() {
    local log
    if ! log=$(as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null 2>&1); then
        printf '%s\n' "$log" >&2
        return 1
    fi
}

# Prints the names of those Debian packages in $@ that are not installed, each followed by a space.
missing_packages() {
    local installed package
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null) || true
    for package in "$@"; do
        case $'\n'$installed$'\n' in
            *$'\n'"$package installed"$'\n'*) ;;
            *) printf '%s ' "$package" ;;
        esac
    done
}

# Makes sure that the Debian packages $@ are installed: installs the missing ones if it may become root. Otherwise
# prints the command that does it, and ends the script.
need_packages() {
    local missing
    command -v apt-get >/dev/null || die "this system has no apt: install the equivalents of these Debian packages: $*"
    missing=$(missing_packages "$@")
    missing=${missing% }
    [ -n "$missing" ] || return 0

    may_be_root || die "packages are missing: run sudo apt-get install --no-install-recommends $missing"
    note "installing $missing"
    # shellcheck disable=SC2086 # one word each
    quiet_apt_get install --no-install-recommends $missing 2>/dev/null ||
        { quiet_apt_get update && quiet_apt_get install --no-install-recommends $missing; } ||
        die "could not install: $missing"
}

# Prints the numbers of the processors that this process may use, each on a line.
allowed_processors() {
    local list range
    list=$(taskset -pc $$)
    for range in $(tr , ' ' <<<"${list##* }"); do
        seq "${range%-*}" "${range#*-}"
    done
}

# Sets the array own_network: a command that runs another one in a network of its own, with a loopback interface alone, or
# nothing where only the administrator may make one.
find_own_network() {
    # shellcheck disable=SC2016 # expanded there
    own_network=(unshare --net bash -c 'ip link set lo up && exec "$@"' own-network)
    "${own_network[@]}" true 2>/dev/null || own_network=()
}

# Runs Maven: the one on PATH if it is new enough, else the wrapper, which downloads one. Needs $here.
maven() {
    local version
    version=$(mvn --version 2>/dev/null | sed -n 's/.*Apache Maven \([0-9.]*\).*/\1/p')
    if [ -n "$version" ] && [ "$(printf '3.6.3\n%s\n' "$version" | sort -V | head -n 1)" = 3.6.3 ]; then
        mvn "$@"
    else
        "${here:?}/mvnw" "$@"
    fi
}

# The Maven modules, each after those that it depends on.
# shellcheck disable=SC2034 # for the scripts that source this
maven_modules=(ffm-bindings rdma-panama rdma-soft rdma-efa rdma-mlx5 cards rdma-cm rdma-nvme rdma-micrometer rdma-spark bench frameworks spark-jobs samples)

# Prints the Maven modules whose artifacts are published, separated by commas: those that the list of versions names, that
# list, and the parent of all. Needs $here.
published_modules() {
    printf '.,rdma-panama-bom'
    sed -n 's|^                <artifactId>\([a-z0-9-]*\)</artifactId>$|,\1|p' "${here:?}/rdma-panama-bom/pom.xml" | tr -d '\n'
}

# False if there is no room for what each JVM keeps in /tmp, so that other programs find it: the JVM would complain.
has_room_in_tmp() { df -Pk /tmp 2>/dev/null | awk 'NR == 2 { exit $4 < 64 }'; }

# Sets work to a new folder for temporary files, whose name begins with $1.
make_work_folder() {
    local parent=${TMPDIR:-/tmp}
    work=$(mktemp -d "$parent/$1.XXXXXX" 2>/dev/null) || die "cannot make a folder in $parent: set TMPDIR to one that can be written"
    # The logs of a run have room in this.
    if ! head -c 1048576 /dev/zero >"$work/room" 2>/dev/null; then
        rm -rf "$work"
        die "there is no room in $parent: set TMPDIR to a folder of another disk"
    fi
    rm "$work/room"
}

# Prints the options for every JVM. The serial collector starts fastest, and the data path makes no garbage.
# The emulated lab uses only C1. Replacing C1 code by C2 code overwrites instructions that another processor is about to
# run, and qemu then sometimes executes half of the old instruction and half of the new one (seen with qemu 7.2: the JVM
# dies at the entry of a pure Java method). C1 itself gives up the code of a method whose check of an index has failed, in
# the same way, if it knows the check as an intrinsic; so it must not. A short program that measures itself, $1 =
# measuring, uses only C2, which starts late and replaces little. Tests for which RDMA_TEST_FIRST_COMPILER is not empty use
# only C1, too, and so do tests in a kernel as a process, which has one processor: most of what C2 compiles for them is not
# used for long. In the lab the JVM measures no times of its own: each time it asks for the clock, that is a system call there,
# and starting takes a quarter longer.
jvm_options() {
    echo -XX:+UseSerialGC
    [ ! -d /run/lab ] && has_room_in_tmp || echo -XX:-UsePerfData
    if grep -q 'QEMU TCG' /proc/cpuinfo 2>/dev/null; then
        case ${1:-} in
            measuring) echo -XX:-TieredCompilation ;;
            *) echo -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions \
                -XX:DisableIntrinsic=_Preconditions_checkIndex,_Preconditions_checkLongIndex ;;
        esac
    elif [ -n "${RDMA_TEST_FIRST_COMPILER:-}" ] ||
        { [ "${1:-}" != measuring ] && grep -q 'User Mode Linux' /proc/cpuinfo 2>/dev/null; }; then
        echo -XX:TieredStopAtLevel=1
    fi
}

# Prints the options of JVMs that run tests. Quick tests draw less at random, repeat less, and try fewer orders of threads. A
# run of all tests ends when nothing has happened for RDMA_TEST_LIMIT seconds. RDMA_TEST_PATIENCE makes the bounds of tests that
# many times as long, and leaves hangs to that limit.
test_options() {
    [ -z "${RDMA_TEST_LIMIT:-}" ] || echo "-Dtests.limit=$RDMA_TEST_LIMIT"
    [ -z "${RDMA_TEST_PATIENCE:-}" ] ||
        echo "-Dtests.patience=$RDMA_TEST_PATIENCE" -Djunit.jupiter.execution.timeout.mode=disabled
    [ -z "${RDMA_TEST_QUICK:-}" ] ||
        echo -D{fuzz.calls,flood.requests,hostile.datagrams,soak.messages}=12000 -D{hostile.packets,ring.records}=100000 \
            -Dhostile.changes=35000 -Dinterleavings.deviations=1 -Dbound.objects=4000 -D{cm.in.a.row,hostile.capsules}=1000 \
            -D{shared,connections}.millis=300 -Dshared.rounds=2 -D{hosts.rounds,connections.rounds,log.rounds,entries.values}=1 \
            -D{steady.round,hot.round,cm.shared}=500 -Dnetty.connections=300 -Dlog.kills=100 -D{rings.percent,stream.divisor}=10
}

# Builds the Maven module $1 if it is missing or older than its sources, which are in the modules $2 and following.
# Needs $here.
build_if_needed() {
    local module=$1 source log jar stamp sources
    jar=${here:?}/$module/target/modules/rdma-$module.jar
    # Touched by each build, because Maven does not touch a jar that would not change.
    stamp=$here/$module/target/built
    sources=("$here/pom.xml")
    shift
    if [ -d /run/lab ]; then
        # In the lab the build would be lost, and comparing the times of all sources takes seconds.
        [ -e "$jar" ] || die "nothing is built yet: run on the host: $here/bin/$me --help"
        return
    fi
    for source in "$@"; do
        sources+=("$here/$source"/{pom.xml,src/main})
    done
    # The text of the lessons is in the jar of the samples.
    [ "$module" != samples ] || sources+=("$here/docs/LEARN.md")
    must_build || return 0
    if [ ! -w "$here" ] || { [ -d "$here/$module/target" ] && [ ! -w "$here/$module/target" ]; }; then
        [ -e "$jar" ] || die "nothing is built yet, and $here cannot be written here: run 'bin/$me --help' where it can"
        note "what is built is older than its sources, and $here cannot be written here: going on with what is there"
        return
    fi
    # Two commands that start at the same time need it once.
    mkdir -p "$here/target"
    { exec 9>"$here/target/build.lock"; } 2>/dev/null ||
        die "cannot write $here/target/build.lock, which keeps two builds apart: another user has made it, perhaps root; remove it"
    if command -v flock >/dev/null && ! flock -n 9; then
        note "waiting for another command, which builds"
        flock 9
    fi
    if must_build; then
        note "building the module $module$([ -e "$jar" ] || echo ", which takes a minute or two the first time")"
        if ! log=$(cd "$here" && maven -q -DskipTests -pl "$module" -am package 2>&1 9>&-); then
            printf '%s\n' "$log" >&2
            die "the build failed"
        fi
        touch "$stamp"
    fi
    exec 9>&-
}

# A part of build_if_needed, with its variables: true if there is no jar, or a source is newer than the last build.
must_build() {
    local newest=$stamp
    if [ "$jar" -nt "$newest" ]; then
        newest=$jar
    fi
    [ ! -e "$jar" ] || [ -n "$(find "${sources[@]}" -newer "$newest" -print -quit)" ]
}

# Ends the script with status 2 if Maven does not know one of the options "$@"; with one it does not know, it prints its usage.
check_maven_options() {
    local said
    [ $# -gt 0 ] || return 0
    said=$(maven "$@" --version 2>&1) && return
    said=$(sed -n 's/^Unable to parse command line options: *//p' <<<"$said")
    [ -n "$said" ] || return 0
    note "Maven, which gets the options, does not take them: $said (see bin/$me --help)"
    exit 2
}

# Copies what JUnit's console launcher prints, without its sums: these count a test that an assumption ended neither as
# passed nor as skipped, and a test in a class that an assumption ended as none of all. count_tests tells what became of each.
without_summary() { sed -u '/^\[ *[0-9]* \(tests\|containers\) /d'; }

# Prints how many tests were found, passed, were skipped, and failed, of the part $1, such as soft0=target/soft-reports.
# Fails when one failed, or there are none. Needs $here.
count_tests() {
    "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "${here:?}/ffm-bindings/target/test-classes" \
        org.rdmapanama.ffm.TestReport --counts "$1"
}

# Prints the tests that failed or did not end, with the first lines of why, of what JUnit's console launcher wrote into the
# file $1.
failed_tests() {
    awk '/^JUnit .* :: / { lines = 0; name = $0; sub(/ :: [A-Z]+$/, "", name); delete running[name] }
        /^JUnit .* :: STARTED$/ { running[name] = 1 }
        /^JUnit .* :: FAILED/ { lines = 30; print "" }
        /^Watchdog: / { lines = 100; print "" }
        lines > 0 { print substr($0, 1, 400); lines-- }
        END { for (name in running) print "\n" name " :: DID NOT END" }' "$1"
}

# Copies standard input, also to target/failures.log, which bin/test shows at its end. What a part prints is in its log, and
# comes from there.
keep_failures() {
    if [ -n "${RDMA_IN_A_PART:-}" ]; then
        cat
    else
        tee -a "${here:?}/target/failures.log"
    fi
}
