# shellcheck shell=bash
# Packages of Debian for another machine or of another release, unpacked into a folder and not installed. Source this file
# after common.sh.

# Prints the line of apt's sources for the release $1: its address is that of the archive of Debian which this machine uses.
source_line() {
    local address keys=/usr/share/keyrings/debian-archive-keyring.gpg
    # shellcheck disable=SC2016 # apt's own variable
    address=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
        'Component: main' 2>/dev/null | head -n 1)
    [ -n "$address" ] || return 1
    [ -r "$keys" ] || keys=
    echo "deb ${keys:+[signed-by=$keys] }$address $1 main"
}

# Lets an apt know the packages of the release $2 for machines of the kind $3, such as arm64: the one whose APT_CONFIG is $1/options.
# Its state is in the folder $1, whose contents are lost. Nothing is installed in it, and this machine's apt learns nothing of it.
# It checks signatures, as always.
make_own_apt() {
    local folder=$1 release=$2 machine=$3 line
    command -v apt-get >/dev/null || die "this system has no apt, which fetches packages of Debian $release"
    line=$(source_line "$release") || { quiet_apt_get update && line=$(source_line "$release"); } ||
        die "apt of this machine knows no archive of Debian to take packages of $release from: see apt-get indextargets"
    rm -rf "$folder"
    mkdir -p "$folder"/{lists/partial,archives/partial,none}
    : >"$folder/status"
    echo "$line" >"$folder/sources.list"
    cat >"$folder/options" <<END
Dir::State "$folder";
Dir::State::status "$folder/status";
Dir::Cache "$folder";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "$folder/none";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "$folder/none";
APT::Architecture "$machine";
APT::Architectures "$machine";
APT::Sandbox::User "";
END
    # A generous limit: apt itself gives up on a silent server, but not on a slow one. Without the option apt forgives a server
    # that cannot be reached.
    APT_CONFIG=$folder/options timeout 3600 apt-get -q -o APT::Update::Error-Mode=any update >"$folder/log" 2>&1 ||
        die "could not fetch the list of packages of Debian $release: is there a network? What apt printed is in $folder/log"
}

# Fetches the packages $4 and following, and all that they depend on, of the release $2 for machines of the kind $3, and unpacks
# them into the folder $1/root. What else is in $1 is lost.
unpack_packages() {
    local folder=$1 release=$2 machine=$3 package link
    shift 3
    make_own_apt "$folder" "$release" "$machine"
    mkdir "$folder/root"
    APT_CONFIG=$folder/options timeout 3600 apt-get -q -y --no-install-recommends --download-only install "$@" \
        >>"$folder/log" 2>&1 ||
        die "could not fetch $1 and others: is there a network? What apt printed is in $folder/log"
    for package in "$folder"/archives/*.deb; do
        dpkg-deb -x "$package" "$folder/root"
    done
    # Some symbolic links begin at the root, which is that of another system here.
    find "$folder/root" -type l -lname '/*' | while IFS= read -r link; do
        ln -srfn "$folder/root$(readlink "$link")" "$link"
    done
}

# Puts a script in the place of each program of the JDK $1, which starts it by the words that follow. The JDK will be in the
# folder $2 when it is used. It finds its folder by the name of the program that runs.
wrap_jdk() {
    local jdk=$1 final=$2 program
    shift 2
    for program in bin/{java,javac,jar,javadoc,javap,jcmd,jfr} lib/jspawnhelper; do
        [ -e "$jdk/$program" ] || continue
        mv "$jdk/$program" "$jdk/$program.real"
        {
            echo '#!/bin/sh'
            echo "exec$(printf ' "%s"' "$@" "$final/$program.real") \"\$@\""
        } >"$jdk/$program"
        chmod +x "$jdk/$program"
    done
}
