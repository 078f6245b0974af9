package org.rdmapanama.internal.provider;

import org.rdmapanama.ffm.internal.Errno;

/** The work request builder of a direct queue pair, without the operations that no direct path has. */
public abstract class DirectSendVerbs extends SendVerbs {
    /** The first error of the batch, a negated errno, or 0. */
    protected int error;

    /** For subclasses. */
    protected DirectSendVerbs() {}

    /** Fails the batch because of an operation that the queue pair does not have. */
    protected final void refuse() {
        if (error == 0) {
            error = -Errno.EOPNOTSUPP;
        }
    }

    @Override
    public void wrSendTso(long queuePair, long header, short headerSize, short mss) {
        refuse();
    }

    @Override
    public void wrAtomicWrite(long queuePair, int rkey, long remoteAddress, long value) {
        refuse();
    }

    @Override
    public void wrFlush(long queuePair, int rkey, long remoteAddress, long length, byte type, byte level) {
        refuse();
    }

    @Override
    public void wrBindMw(long queuePair, long memoryWindow, int rkey, long bindInfo) {
        refuse();
    }

    @Override
    public void wrLocalInv(long queuePair, int rkey) {
        refuse();
    }

    @Override
    public void wrSetXrcSrqn(long queuePair, int number) {
        refuse();
    }
}
