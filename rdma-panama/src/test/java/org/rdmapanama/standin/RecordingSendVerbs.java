package org.rdmapanama.standin;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.internal.provider.SendVerbs;

/** Writes down what a driver would be told, in order, and does nothing: for operations that no driver at hand has. */
public final class RecordingSendVerbs extends SendVerbs {
    public final List<String> calls = new ArrayList<>();

    /** What the next completion returns. */
    public int result;

    /** A call that throws, or null. */
    public String broken;

    private void call(String verb, Object... arguments) {
        StringBuilder text = new StringBuilder(verb);
        for (Object argument : arguments) {
            text.append(' ').append(argument);
        }
        calls.add(text.toString());
        if (verb.equals(broken)) {
            throw new UnsupportedOperationException(verb);
        }
    }

    @SuppressWarnings("restricted")
    public static MemorySegment at(long address, long size) {
        return MemorySegment.ofAddress(address).reinterpret(size);
    }

    @Override
    public void wrStart(long queuePair) {
        call("start");
    }

    @Override
    public int wrComplete(long queuePair) {
        call("complete");
        return result;
    }

    @Override
    public void wrAbort(long queuePair) {
        call("abort");
    }

    @Override
    public void wrSend(long queuePair) {
        call("send");
    }

    @Override
    public void wrSendImm(long queuePair, int immediate) {
        call("send_imm", Integer.toHexString(immediate));
    }

    @Override
    public void wrSendInv(long queuePair, int rkey) {
        call("send_inv", rkey);
    }

    @Override
    public void wrSendTso(long queuePair, long header, short headerSize, short mss) {
        call("send_tso", at(header, headerSize).getString(0), headerSize, Short.toUnsignedInt(mss));
    }

    @Override
    public void wrRdmaRead(long queuePair, int rkey, long remoteAddress) {
        call("rdma_read", rkey, remoteAddress);
    }

    @Override
    public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
        call("rdma_write", rkey, remoteAddress);
    }

    @Override
    public void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate) {
        call("rdma_write_imm", rkey, remoteAddress, Integer.toHexString(immediate));
    }

    @Override
    public void wrAtomicCmpSwp(long queuePair, int rkey, long remoteAddress, long compare, long swap) {
        call("atomic_cmp_swp", rkey, remoteAddress, compare, swap);
    }

    @Override
    public void wrAtomicFetchAdd(long queuePair, int rkey, long remoteAddress, long add) {
        call("atomic_fetch_add", rkey, remoteAddress, add);
    }

    @Override
    public void wrAtomicWrite(long queuePair, int rkey, long remoteAddress, long value) {
        call("atomic_write", rkey, remoteAddress, at(value, 8).get(ValueLayout.JAVA_LONG, 0));
    }

    @Override
    public void wrFlush(long queuePair, int rkey, long remoteAddress, long length, byte type, byte level) {
        call("flush", rkey, remoteAddress, length, type, level);
    }

    @Override
    public void wrBindMw(long queuePair, long memoryWindow, int rkey, long bindInfo) {
        call("bind_mw", memoryWindow, rkey);
    }

    @Override
    public void wrLocalInv(long queuePair, int rkey) {
        call("local_inv", rkey);
    }

    @Override
    public void wrSetUdAddr(long queuePair, long addressHandle, int queuePairNumber, int qkey) {
        call("set_ud_addr", queuePairNumber, qkey);
    }

    @Override
    public void wrSetXrcSrqn(long queuePair, int number) {
        call("set_xrc_srqn", number);
    }

    @Override
    public void wrSetInlineData(long queuePair, long address, long length) {
        call("set_inline_data", length);
    }

    @Override
    public void wrSetInlineDataList(long queuePair, long count, long list) {
        StringBuilder lengths = new StringBuilder();
        for (int i = 0; i < count; i++) {
            lengths.append(i == 0 ? "" : "+").append(at(list, count * 16).get(ValueLayout.JAVA_LONG, i * 16L + 8));
        }
        call("set_inline_data_list", lengths);
    }

    @Override
    public void wrSetSge(long queuePair, int lkey, long address, int length) {
        call("set_sge", Integer.toUnsignedString(length));
    }

    @Override
    public void wrSetSgeList(long queuePair, long count, long list) {
        call("set_sge_list", count);
    }
}
