package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Wrong usage ends with status 2 and one line that says what is wrong. No device is needed to detect it. */
class UsageTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            ""                                        | which command?
            nonsense                                  | there is no command 'nonsense': choose devices, device-info, top, pingpong,
            nonsense --help                           | there is no command 'nonsense': choose devices, device-info, top, pingpong,
            help nonsense                             | there is no command 'nonsense': choose devices, device-info, top, pingpong,
            help perf nonsense                        | there is no test 'nonsense': choose server, today, atomic-bw,
            help devices extra                        | devices takes no operand: 'extra'
            perf write-bw -h --nonsense               | Unknown option: '--nonsense'
            devices extra                             | devices takes no operand: 'extra'
            device-info nodev                         | device-info takes no operand: 'nodev'; if that is a device, write -d nodev
            hello x y                                 | hello takes no operand: 'x', 'y'
            device-info --colour                      | Unknown option: '--colour'
            device-info -i 0                          | --device-port must be between 1 and 255, not 0
            device-info -i                            | Missing required parameter for option
            pingpong -t sctp                          | --transport must be rc, uc, ud, srd or tcp, not 'sctp'
            pingpong -s 12parsec                      | --size: '12parsec' is not a size; write 4096, 64KiB
            pingpong -n 0                             | --iters must be between 1 and
            pingpong --warmup -1                      | --warmup must be between 0 and
            pingpong -n many                          | --iters must be a whole number, not 'many'
            pingpong -n 3000000000                    | --iters must be between -2147483648 and 2147483647, not '3000000000'
            pingpong --timeout x                      | --timeout must be a whole number, not 'x'
            pingpong --d x                            | rdma pingpong: '--d' is not unique
            pingpong -m 1500                          | path MTU must be 256, 512, 1024, 2048 or 4096 bytes: 1500
            pingpong -p 0                             | --port must be between 1 and 65535, not 0
            pingpong -p 70000                         | --port must be between 1 and 65535, not 70000
            pingpong -i 256                           | --device-port must be between
            pingpong -g -2                            | --gid-index must be between
            pingpong -l 16                            | --sl must be between 0 and 15, not 16
            pingpong -r 0                             | --rx-depth must be between
            pingpong --timeout -1                     | --timeout must be between
            pingpong one two                          | pingpong takes one HOST, not also 'two'
            perf                                      | which test? server, today, atomic-bw, atomic-lat, read-bw,
            perf write-foo                            | there is no test 'write-foo': choose server, today, atomic-bw, atomic-lat, read-bw,
            perf --compare-perftest --rounds 0        | --rounds must be between 1 and
            perf --compare-perftest --ops ping        | there is no test 'ping': choose send-lat, write-lat,
            perf --compare-perftest --ops send-lat --devices a,b,c | --devices takes one or two, not 3
            perf --compare-perftest --sizes many      | --sizes: 'many' is not a size
            perf --compare-perftest --devices a,b,c   | --devices takes one or two, not 3
            perf server host                          | server takes no operand: 'host'
            perf server -p 0                          | --port must be between 1 and 65535, not 0
            perf write-lat                            | give HOST, where 'rdma perf server' runs
            perf write-lat one two                    | write-lat takes one HOST, not also 'two'
            perf read-lat -c UC h                     | UC does not support READ
            perf read-bw -c UD h                      | UD does not support READ
            perf atomic-lat -c UC h                   | UC does not support ATOMIC
            perf atomic-bw -c UD h                    | UD does not support ATOMIC
            perf write-lat -c UD h                    | UD does not support WRITE
            perf write-bw -c UD h                     | UD does not support WRITE: it supports send-lat and send-bw
            perf send-lat -c XRC h                    | --connection must be RC, UC, UD or SRD, not 'XRC'
            perf write-lat -e h                       | for which there is no event: leave out --events
            perf read-lat -I 16 h                     | --inline is for send and write
            perf atomic-bw -I 16 h                    | --inline is for send and write
            perf atomic-lat -s 16 h                   | atomics always use 8 bytes: leave out --size and --all
            perf write-bw -a -s 1 h                   | --all starts at 2 bytes
            perf atomic-bw -a h                       | atomics always use 8 bytes
            perf write-lat -A FETCH_AND_ADD h         | --atomic is for atomic-lat and atomic-bw
            perf write-bw -o 4 h                      | --outs is for reads and atomics
            perf read-bw -o 0 h                       | --outs must be between 1 and 255, not 0
            perf send-lat -q 2 h                      | --qps is for bandwidth
            perf send-lat --post-list 2 h             | --post-list is for bandwidth
            perf send-lat -b h                        | --bidirectional is for bandwidth
            perf send-lat -t 2 h                      | --tx-depth is for bandwidth
            perf send-lat -Q 2 h                      | --cq-mod is for bandwidth
            perf write-bw -n 10 -D 1 h                | --iters and --duration exclude each other
            perf write-bw -D 0 h                      | --duration must be between 1 and
            perf write-bw -n 0 h                      | --iters must be between 1 and
            perf write-bw --rate 0 h                  | --rate must be between 1 and
            perf write-bw --rate 9 --post-list 2 h    | --rate and --post-list exclude each other
            perf write-bw --rate 9 --cq-mod 2 h       | --rate and --cq-mod exclude each other
            perf write-bw --rate 9 --events h         | --rate and --events exclude each other
            perf write-bw --post-list 4 -n 10 h       | --iters must be a multiple of --post-list: 10 is not a multiple of 4
            perf write-bw --post-list 4 -Q 3 -n 8 h   | --post-list must be a multiple of --cq-mod: 4 is not a multiple of 3
            perf write-bw --post-list 200 -n 200 h    | --post-list 200 must not exceed --tx-depth 128
            perf write-bw -Q 200 h                    | --cq-mod 200 must not exceed --tx-depth 128
            perf write-bw -q 0 h                      | --qps must be between 1 and
            perf write-bw -q 4096 -s 1MiB h           | 4096 queue pairs and 1 MiB need
            perf write-bw -s 0 h                      | --size must be between 1 byte and 1 GiB, not 0 B
            perf write-bw -m 1500 h                   | path MTU must be 256, 512, 1024, 2048 or 4096 bytes: 1500
            perf write-bw --plot x.svg h              | --plot draws bandwidth over the size
            perf write-bw -F xml h                    | --format must be text, json or csv, not 'xml'
            nvme                                      | which command? discover, info, read, write, copy, bench or serve
            nvme nonsense                             | there is no command 'nonsense': choose discover, info, read,
            nvme info                                 | Missing required parameter: 'HOST'
            nvme info 10.0.0.1 -p 0                   | --port must be between 1 and 65535, not 0
            nvme info [::1]:70000                     | the port of '[::1]:70000' must be between 1 and 65535
            nvme serve [::1]:0 --memory 1MiB          | the port of '[::1]:0' must be between 1 and 65535
            nvme discover 10.0.0.1 --timeout 0        | --timeout must be between 1 and
            nvme read 10.0.0.1 file --depth 0         | --depth must be between 1 and
            nvme write 10.0.0.1 file -s 0             | --size must be at least 1 byte
            nvme bench 10.0.0.1 --depth 0             | --depth must be between 1 and 1024, not 0
            nvme copy 10.0.0.1 10.0.0.2 --to-namespace -1 | --to-namespace must not be negative: -1
            nvme serve                                | give --file or --memory
            nvme serve --memory 1MiB --block-size 513 | --block-size must be a power of two from 512 to 65536, not 513
            log                                       | which command? replica, primary, verify or bench
            log replica                               | Missing required parameter: 'FILE'
            log replica f -p 0                        | --port must be between 1 and 65535, not 0
            log replica f --size 100                  | --size must be a multiple of 8 of at least 8192 bytes, not 100
            log primary f                             | Missing required parameter: 'HOST[:PORT]'
            log primary f h --count 0                 | --count must be between 1 and
            log primary f h --record 2MiB             | --record must be at most 1048576 bytes
            log primary f h --durability tape         | --durability must be memory or disk, not 'tape'
            log primary f h --timeout 0               | --timeout must be between 1 and
            log primary f 127.0.0.1:0                 | the port of '127.0.0.1:0' must be between 1 and 65535
            log bench --nodes 1                       | --nodes must be between 2 and 9, not 1
            log verify                                | Missing required parameter: 'FILE'
            ping                                      | rdma ping: give -s (server) or -c (client) (see
            ping -s -c                                | exclude each other (see
            ping -c                                   | a client needs the server's address: -a ADDRESS
            ping -c -a 10.0.0.1 -P                    | --persistent is for servers
            ping -s -I 10.0.0.1                       | --source is for clients
            ping -s -p 0                              | --port must be between 1 and 65535, not 0
            ping -c -a 10.0.0.1 -S 25                 | --size must be between 26 and 65535, not 25
            ping -c -a 10.0.0.1 -S 65536              | --size must be between 26 and 65535, not 65536
            ping -c -a 10.0.0.1 -C -1                 | --count must be between 0 and
            ping -s --timeout -1                      | --timeout must be between
            selftest extra                            | selftest takes no operand: 'extra'
            selftest --timeout 0                      | --timeout must be between 1 and 1000, not 0
            selftest --rounds 0                       | --rounds must be between 1 and 1000, not 0
            selftest -i 0                             | --device-port must be between 1 and 255, not 0
            selftest -p 1                             | Unknown options: '-p', '1'
            transfer                                  | give HOST, or --serve
            transfer --serve host                     | a server takes no HOST
            transfer host -s 0                        | --size must be between 1 byte and 1 GiB, not 0 B
            transfer host -s 1025MiB                  | --size must be between 1 byte and 1 GiB
            transfer host --chunk 0                   | --chunk must be between
            transfer host --warmup 2GiB               | --warmup must be between 1 byte and 1 GiB, not 2 GiB
            transfer host --depth 0                   | --depth must be between
            transfer --serve --limit 2GiB             | --limit must be between
            transfer host --tcp --cm                  | exclude each other (see
            transfer host --device rxe0               | --device is for --tcp: the connection manager finds the device
            transfer host -g 1                        | --gid-index is for --tcp
            transfer host --tcp -I 10.0.0.1           | --source is for the connection manager
            transfer host --limit 5                   | --limit is for servers
            transfer host -P                          | --persistent is for servers
            transfer host -p 0                        | --port must be between 1 and 65535, not 0
            serve one two                             | serve takes one ADDRESS, not also 'two'
            serve --cm -d rxe0                        | --device is for --tcp
            serve --tcp 10.0.0.1                      | with --tcp a server listens at all addresses
            serve --limit 0                           | --limit must be between 1 byte and 1 GiB, not 0 B
            serve --timeout -1                        | --timeout must be between
            serve --size 1MiB                         | Unknown option: '--size'
            rsocket-copy                              | give FILE and HOST:PORT
            rsocket-copy --serve 7427                 | a server takes one directory
            rsocket-copy --serve 0 .                  | the port must be between 1 and 65535, not 0
            rsocket-copy one two three                | give FILE and HOST:PORT, or --serve
            rsocket-copy --serve many .               | --serve must be a whole number, not 'many'
            rsocket-copy file host:many               | the port must be between 1 and 65535, not 'many'
            rsocket-copy file host:70000              | the port must be between 1 and 65535, not 70000
            rsocket-copy file host --timeout 0        | --timeout must be between
            perf today --size 2GiB                    | --size must be between 1 MiB and 1 GiB, not 2 GiB
            perf today --size 1023KiB                 | --size must be between 1 MiB and 1 GiB
            perf today --rounds 0                     | --rounds must be between 1 and
            perf today --timeout 0                    | --timeout must be between 1 and
            perf today -I a,b,c                       | --addresses takes one or two, not 3
            learn 99                                  | the lesson must be between 0 and 16, not 99
            learn -1                                  | the lesson must be between 0 and 16, not -1
            learn 0 --headers                         | --headers is for a lesson with packets, not 0
            learn 15 --headers                        | --headers is for a lesson with packets, not 15
            learn 3 --serve                           | --serve is for lesson 13, which has two sides
            learn --to 127.0.0.1:1                    | --to is for lesson 13, which has two sides
            learn 13 --serve --to 127.0.0.1:1         | --serve and --to exclude each other
            learn 13 --to 127.0.0.1                   | the port of '127.0.0.1' must be between 1 and 65535
            learn many                                | LESSON must be a whole number, not 'many'
            learn 1 2                                 | learn takes one LESSON, not also '2'
            learn --headers                           | --headers is for a lesson: give its number
            learn 3 --html x                          | --html writes all lessons to a page: leave out the number 3
            learn --headers --html x                  | --headers and --html exclude each other
            learn --html                              | Missing required parameter for option '--html'
            learn --try file --html x                 | --try and --html exclude each other
            learn 3 --try file                        | --try runs the statements of a file: give no lesson, --serve or --to
            devices --pcap                            | Missing required parameter for option '--pcap'
            perf today host                           | today takes no operand: 'host'
            """)
    void shouldSayWhatIsWrong(String arguments, String message) throws Exception {
        Run run = Run.start(words(arguments));
        assertEquals(2, run.join(), run::toString);
        assertEquals(1, run.err().lines().count(), run::toString);
        assertTrue(run.err().startsWith("rdma"), run::toString);
        assertTrue(run.err().contains(message), run::toString);
        assertTrue(run.err().contains("--help"), run::toString);
        assertEquals("", run.out());
    }

    @Test
    void shouldSayThatAnArgumentIsEmpty() throws Exception {
        Run run = Run.start("transfer", "");
        assertEquals(2, run.join(), run::toString);
        assertEquals(
                "rdma transfer: an argument is empty (see 'rdma transfer --help')",
                run.err().strip());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--help",
                "devices --help",
                "device-info -h",
                "pingpong --help",
                "perf --help",
                "perf server -h",
                "perf send-lat --help",
                "perf atomic-bw -h",
                "ping --help",
                "serve --help",
                "transfer -h",
                "rsocket-copy -h",
                "table -h",
                "table bench -h",
                "parameters train -h",
                "hello -h",
                "learn -h",
                "--pcap /no/such/file hello -h",
                "perf today --help",
                "help",
                "help perf",
                "help perf write-bw",
                "--version"
            })
    void shouldHelp(String arguments) throws Exception {
        Run run = Run.start(words(arguments));
        assertEquals(0, run.join(), run::toString);
        assertEquals("", run.err());
        assertTrue(run.out().contains("rdma"), run::toString);
    }

    @Test
    void shouldHelpAsACommandAndAsAnOption() throws Exception {
        Run option = Run.start("perf", "write-bw", "--help");
        Run command = Run.start("help", "perf", "write-bw");
        assertEquals(0, option.join(), option::toString);
        assertEquals(0, command.join(), command::toString);
        assertEquals(option.out(), command.out());
    }

    /** A command that is named first is the only one that is built; its help is as if all were. */
    @Test
    void shouldHelpAloneAsAmongAll() {
        CommandLine all = Rdma.commandLine(Rdma.COMMANDS);
        assertEquals(18, all.getSubcommands().size());
        // The first line stands in the list of commands.
        assertAll(all.getSubcommands().values().stream().map(each -> () -> {
            String first = each.getCommandSpec().usageMessage().description()[0];
            assertTrue(first.endsWith("."), first);
        }));
        all.getSubcommands().forEach((name, command) -> {
            CommandLine rdma = Rdma.commandLine(Rdma.COMMANDS, name);
            assertEquals(Set.of(name), rdma.getSubcommands().keySet());
            CommandLine alone = rdma.getSubcommands().get(name);
            assertEquals(command.getUsageMessage(), alone.getUsageMessage());
            assertEquals(
                    command.getSubcommands().keySet(), alone.getSubcommands().keySet());
            command.getSubcommands().forEach((test, expected) -> {
                CommandLine perf = Rdma.commandLine(Rdma.COMMANDS, name, test)
                        .getSubcommands()
                        .get(name);
                assertEquals(Set.of(test), perf.getSubcommands().keySet());
                assertEquals(
                        expected.getUsageMessage(),
                        perf.getSubcommands().get(test).getUsageMessage());
            });
        });
        assertEquals(10, all.getSubcommands().get("perf").getSubcommands().size());
    }

    @ParameterizedTest
    @CsvSource({"0x00221c76, 10", "0, 0", "0x80000000, 1", "0x2100000000, 1", "0x1400000000, 2"})
    void shouldNameCapabilities(String flags, int names) {
        List<String> found = DeviceReport.capabilities(Long.parseLong(flags.replace("0x", ""), 16));
        assertEquals(names, found.size(), found::toString);
    }

    private static String[] words(String arguments) {
        return arguments.isEmpty() ? new String[0] : arguments.split(" +", -1);
    }
}
