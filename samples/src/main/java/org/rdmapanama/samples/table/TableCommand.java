package org.rdmapanama.samples.table;

import org.rdmapanama.samples.CommandGroup;
import picocli.CommandLine.Command;

/** A hash table that clients read one-sided. */
@Command(
        name = "table",
        description = {
            "Keep a hash table in memory that clients read by RDMA READ, without the server's processor.",
            "What changes it is sent to the server.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma table serve                 on one host, and on others:",
            "  rdma table put host key value",
            "  rdma table get host key          prints the value",
            "  rdma table remove host key",
            "  rdma table bench host            what reading costs, and what asking costs",
        })
public final class TableCommand extends CommandGroup {
    static final String PORT = "7475";

    /** For picocli. */
    public TableCommand() {
        super(
                TableServeCommand.class,
                TableGetCommand.class,
                TablePutCommand.class,
                TableRemoveCommand.class,
                TableBenchCommand.class);
    }
}
