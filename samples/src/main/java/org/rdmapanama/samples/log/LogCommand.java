package org.rdmapanama.samples.log;

import org.rdmapanama.samples.CommandGroup;
import picocli.CommandLine.Command;

/** Keeps a log on several machines. */
@Command(
        name = "log",
        description = {
            "Keep a log on several machines: a primary writes records into the files of its replicas by RDMA.",
            "A record is committed once a majority of all nodes has it, and is then not lost while a majority remains.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma log replica /var/tmp/node1               on one host, and on another",
            "  rdma log primary /var/tmp/node0 host1 host2   on a third: appends each line of its input",
            "  rdma log verify node0 node1 node2             with the files at one place",
            "  rdma log bench                                RDMA and TCP beside each other, on this machine",
        })
public final class LogCommand extends CommandGroup {
    /** For picocli. */
    public LogCommand() {
        super(LogReplicaCommand.class, LogPrimaryCommand.class, LogVerifyCommand.class, LogBenchCommand.class);
    }
}
