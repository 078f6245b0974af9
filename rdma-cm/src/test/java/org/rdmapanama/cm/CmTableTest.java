package org.rdmapanama.cm;

import java.util.List;
import java.util.Map;
import org.rdmapanama.ffm.FunctionTable;

/** Makes docs/CM.md: the functions of {@code rdma_cma.h} and {@code rsocket.h}. */
class CmTableTest extends FunctionTable {
    private static final String DATAGRAMS = "no rsockets for datagrams: see `CmId` with `PortSpace.UDP`";

    CmTableTest() {
        super(
                "docs/CM.md",
                List.of("rdma_cma.h", "rsocket.h"),
                Map.of(
                        "rrecvfrom", DATAGRAMS,
                        "rsendto", DATAGRAMS));
    }

    @Override
    protected String document() {
        return """
                # Connections by address and rsockets, function by function

                Made by `CmTableTest` of the sources: of the tag `@verb` in javadoc, and of what the tests say that they show.
                Not to be edited.

                """ + table("rdma_cma.h") + "\n" + table("rsocket.h");
    }
}
