package org.rdmapanama.efa.direct;

import java.util.List;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.StoreOrder;

/** Finds the direct path of EFA devices. */
public final class EfaFinder implements DirectPath.Finder {
    private static final List<String> NEEDED = List.of("efadv_query_qp_wqs", "efadv_query_cq");

    /** For {@link java.util.ServiceLoader}. */
    public EfaFinder() {}

    @Override
    public String driver() {
        return "efa";
    }

    /**
     * Opens the direct path of a device.
     *
     * @param context the open device
     * @return the path
     * @throws UnsupportedOperationException on another processor or virtual machine, without libefa of rdma-core 60 or newer,
     *     or on a device whose completion queues are of a kind that this does not know
     */
    @Override
    public DirectPath open(ProviderContext context) {
        StoreOrder.require(driver());
        if (!NativeLibrary.EFA.isAvailable()) {
            throw new UnsupportedOperationException("the direct path of efa needs libefa.so.1, which could not be"
                    + " opened: install the package ibverbs-providers (Debian) or libibverbs (Fedora)");
        }
        for (String function : NEEDED) {
            if (NativeLibrary.EFA.find(function).isEmpty()) {
                throw tooOld("lacks " + function);
            }
        }
        return new EfaPath(context);
    }

    /** Returns the exception for a library that does not tell enough of the queues. */
    static UnsupportedOperationException tooOld(String lack) {
        return new UnsupportedOperationException("the direct path of efa needs libefa of rdma-core 60 or newer, and the"
                + " installed one"
                + NativeLibrary.EFA
                        .version()
                        .map(version -> ", of rdma-core " + version + ",")
                        .orElse("")
                + " " + lack + ": install a newer rdma-core");
    }
}
