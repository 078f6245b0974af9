# The lab's other machine: its kernel built as a program that runs on this machine's kernel (User Mode Linux). Programs
# run there at full speed, while each of their system calls and page faults takes some ten microseconds. To be sourced by
# bin/lab, whose functions and variables this uses.
# shellcheck shell=bash disable=SC2154

# What building it needs, besides the packages of the virtual machine.
uml_packages=(bison flex bc)

# What of the kernel's source the build leaves out, which is two thirds of its files: patterns of tar. Files that configure
# are read even where nothing is compiled.
uml_unused=('*/Documentation/*/*' '*/arch/[!ux]*/*.[chS]' '*/arch/[!ux]*/*.dts*' '*/tools/*' '*/samples/*.[ch]'
    '*/sound/*.[ch]' '*/drivers/net/*/*.[ch]' '*/drivers/infiniband/hw/*.[ch]'
    '*/drivers/'{clk,crypto,gpu,hid,iio,input,media,misc,mtd,pinctrl,scsi,soc,staging,usb,video}'/*.[ch]')

# True if $cache/uml is complete, and of this configuration and this kernel: linux and lib/modules.
have_uml() { [ "$(cat "$cache/uml/version" 2>/dev/null)" = "$(uml_version)" ]; }

uml_version() {
    local recipe
    recipe=$(cat "$here"/lab/uml/* && declare -f build_uml && declare -p uml_unused)
    echo "$(<"$cache/kernel/release") $(cksum <<<"$recipe")"
}

# Builds it from the source of the virtual machine's kernel. The directory appears complete or not at all.
build_uml() {
    local new=$cache/uml.new source log=$cache/uml.new/log
    [[ $new != *[[:space:]:]* ]] ||
        die "the lab's directory must not have blanks or colons in its name: $cache; set RDMA_LAB_CACHE"
    say "building the kernel as a process (three to five minutes)"
    rm -rf "$new"
    mkdir -p "$new/source"
    dpkg-deb --fsys-tarfile "$cache/kernel/source.deb" | tar -x -O --wildcards './usr/src/linux-source-*.tar.xz' |
        xz -d -T 0 | tar -x -C "$new/source" --strip-components=1 "${uml_unused[@]/#/--exclude=}"
    source=$new/source
    "$here/lab/uml/change-source" "$source" >"$log" 2>&1 || uml_failed
    timeout 3600 make -j "$(nproc)" -C "$source" ARCH=um "O=$new/build" CC=gcc "KCONFIG_ALLCONFIG=$here/lab/uml/config" \
        allnoconfig </dev/null >"$log" 2>&1 || uml_failed
    grep -q '^CONFIG_RDMA_RXE=m' "$new/build/.config" || uml_failed
    timeout 3600 make -j "$(nproc)" -C "$source" ARCH=um "O=$new/build" CC=gcc linux modules </dev/null >"$log" 2>&1 ||
        uml_failed
    timeout 600 make -C "$source" ARCH=um "O=$new/build" "INSTALL_MOD_PATH=$new" modules_install </dev/null \
        >"$log" 2>&1 || uml_failed
    mv "$new/build/linux" "$new/linux"
    rm -rf "$new/source" "$new/build" "$new"/lib/modules/*/{source,build}
    uml_version >"$new/version"
    rm -rf "$cache/uml"
    mv "$new" "$cache/uml"
}

uml_failed() {
    tail -n 20 "$log" >&2
    die "could not build the kernel as a process; RDMA_LAB_MACHINE=tcg emulates a processor instead"
}

# Writes the guest's settings, and chooses the processor it runs on: it has only one, and is several times slower when
# the kernel and its programs, which are separate processes here, do not share one.
prepare_uml() {
    local drivers=()
    processor=$(allowed_processors | shuf -n 1)
    for driver in "${modules[@]}"; do
        case $driver in virtio* | 9p* | overlay | veth) ;; *) drivers+=("$driver") ;; esac
    done
    cp "$here/lab/init-uml" "$work/guest/init"
    chmod 755 "$work/guest/init"
    printf '%s=%q\n' machine uml kernel "$cache/uml" drivers "${drivers[*]}" modules "$cache/uml/lib/modules" \
        >>"$work/guest/settings"
}

# Such a kernel needs a mapping of this system for each page of a program that lies apart from the others. With the usual limit of
# 65,530 it kills programs of more than 256 MB without a message, as happened to JVMs after 850 tests. So this raises the limit.
allow_mappings() {
    local limit=/proc/sys/vm/max_map_count least=1000000
    if [ "$(<$limit)" -ge $least ]; then
        return 0
    elif { echo $least >$limit; } 2>/dev/null; then
        note "set vm.max_map_count of this machine to $least, which the kernel as a process needs"
    else
        note "programs in the lab that use more than 256 MB may be killed (status 137): as root, sysctl vm.max_map_count=$least"
    fi
}

# Starts the machine and sets $machine to its process.
start_uml() {
    local namespace=(unshare --pid --fork --kill-child) first cycles=()
    local clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
    # A process of the guest that outlived its kernel would run on as one of the host. So they have a namespace of
    # processes, all of which end with its first one. That is a shell, because a kernel that gives up ends itself by a
    # signal, which a first process does not get.
    [ "$(id -u)" = 0 ] || namespace=(unshare --user --map-root-user --pid --fork --kill-child)
    first='"$@"; exit'
    # Only there does the processor count cycles at a steady rate for sure.
    [ "$(cat $clock 2>/dev/null)" = tsc ] || cycles=(lab.no_cycles)
    allow_mappings
    setpriv --pdeathsig KILL "${namespace[@]}" bash -c "$first" bash taskset -c "$processor" "$cache/uml/linux" \
        "mem=${memory}M" root=/dev/root rootfstype=hostfs rootflags=/ ro "init=$work/guest/init" "lab.run=$work" \
        ssl=null con=null con0=null,fd:1 oops=panic quiet ${cycles[@]+"${cycles[@]}"} </dev/null >"$console" 2>"$work/qemu" &
    machine=$!
}
