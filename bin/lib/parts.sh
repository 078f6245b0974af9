# Commands that run at the same time, each as a process group of its own. To be sourced after common.sh, by scripts: it
# sets the traps of interrupts, which end all parts. A part may be a script that divides itself into parts; if its log is
# called NAME.log, theirs are called NAME-SOMETHING.log. Needs bash 4.3.
# shellcheck shell=bash

parts=()
declare -A part_pid part_log

# For how long a part is asked to end, in tenths of a second, before this asks more firmly. A part of a part gets less, so
# that it has ended before what waits for it is killed.
if [ -n "${RDMA_IN_A_PART:-}" ]; then
    patience=20
else
    patience=50
fi

# Starts a part: its name, where its output goes, and a command.
begin_part() {
    local name=$1 log=$2
    shift 2
    parts+=("$name")
    part_log[$name]=$log
    rm -f "${log%.log}"-*.log
    # Its own group, so that an interrupt reaches all that it has started, once.
    set -m
    (
        SECONDS=0
        status=0
        export RDMA_IN_A_PART=yes
        "$@" || status=$?
        echo "$SECONDS" >"$log.seconds"
        exit "$status"
    ) >"$log" 2>&1 </dev/null &
    part_pid[$name]=$!
    set +m
}

# Waits until no part runs any more, and says once a minute how many tests each has done.
watch_parts() {
    local name tests next=$((SECONDS + 60)) running=yes
    while [ "$running" = yes ]; do
        running=no
        for name in "${parts[@]}"; do
            kill -0 "${part_pid[$name]}" 2>/dev/null || continue
            running=yes
            if [ "$SECONDS" -ge "$next" ]; then
                tests=$(cat "${part_log[$name]%.log}"{,-*}.log 2>/dev/null |
                    grep -c ' :: \(SUCCESSFUL\|FAILED\|ABORTED\)$' || true)
                [ "$tests" = 0 ] || note "$name: $tests tests done"
            fi
        done
        [ "$SECONDS" -lt "$next" ] || next=$((SECONDS + 60))
        [ "$running" = no ] || sleep 0.5
    done
}

# Waits for all parts, says how each ended, and then shows why those that failed did. Fails if one failed.
end_parts() {
    local name status log failed=()
    watch_parts
    for name in "${parts[@]}"; do
        status=0
        log=${part_log[$name]}
        wait "${part_pid[$name]}" || status=$?
        unset "part_pid[$name]"
        if [ "$status" = 0 ]; then
            note "$name: passed, $(<"$log.seconds") s"
        else
            note "$name: FAILED (status $status), $(cat "$log.seconds" 2>/dev/null || echo '?') s"
            failed+=("$name")
        fi
        rm -f "$log.seconds"
    done
    parts=()
    [ ${#failed[@]} = 0 ] && return
    show_failures "${failed[@]}" | keep_failures
    return 1
}

# The second one is followed by all of its options.
errors_of_maven='^\(\[ERROR\]\|Unable to parse command line options\)'

show_failures() {
    local name tests
    for name in "$@"; do
        printf '\n==== %s failed; all of its output is in %s\n' "$name" "${part_log[$name]}"
        tests=$(failed_tests "${part_log[$name]}")
        if [ -n "$tests" ]; then
            printf '%s\n' "$tests"
        elif grep -q "$errors_of_maven" "${part_log[$name]}"; then
            grep "$errors_of_maven" "${part_log[$name]}" | awk '!seen[$0]++' | head -n 40
        else
            tail -n 30 "${part_log[$name]}"
        fi
    done
}

# Ends all parts that are still running, and their processes.
stop_parts() {
    local name tries=0 signal=INT alive=yes
    trap '' INT TERM
    while [ "$alive" = yes ] && [ "$tries" -lt $((4 * patience)) ]; do
        alive=no
        for name in ${part_pid[@]+"${!part_pid[@]}"}; do
            if kill -0 -- "-${part_pid[$name]}" 2>/dev/null; then
                alive=yes
                # Again and again: what has been asked once may start another program.
                [ $((tries % patience)) != 0 ] || kill -s "$signal" -- "-${part_pid[$name]}" 2>/dev/null || true
            fi
        done
        case $tries in
            $((patience - 1))) signal=TERM ;;
            $((2 * patience - 1))) signal=KILL ;;
        esac
        tries=$((tries + 1))
        sleep 0.1
    done
}

interrupted() {
    stop_parts
    note "interrupted"
    exit "$1"
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
