package org.rdmapanama;

import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.rdma_h;

/** A memory window of type 2, for tests of the work requests that bind it. */
final class TestWindow extends ContextObject {
    private TestWindow(ProtectionDomain domain, long address) {
        super(domain.context, address, domain);
    }

    static TestWindow allocate(ProtectionDomain domain) {
        return domain.context.create(
                "ibv_alloc_mw",
                "",
                null,
                () -> domain.provider.allocateMemoryWindow(domain.address, rdma_h.IBV_MW_TYPE_2()),
                mw -> new TestWindow(domain, mw));
    }

    /** The key that a bind may give it: its own, with the lowest byte counted up. */
    int nextRkey() {
        int rkey = ibv_mw.rkey(Native.struct(address, ibv_mw.layout()));
        return (rkey & 0xffff_ff00) | ((rkey + 1) & 0xff);
    }

    /** What a program has to note once a bind has completed: Soft-RoCE's driver takes the next bind's old key from there. */
    void bound(int rkey) {
        ibv_mw.rkey(Native.struct(address, ibv_mw.layout()), rkey);
    }

    @Override
    int destroy() {
        return provider.deallocateMemoryWindow(address);
    }

    @Override
    String destroyVerb() {
        return "ibv_dealloc_mw";
    }

    @Override
    int closingOrder() {
        return 2;
    }

    @Override
    public String toString() {
        return "memory window of " + context;
    }
}
