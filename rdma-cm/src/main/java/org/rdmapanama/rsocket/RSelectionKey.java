package org.rdmapanama.rsocket;

import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** One channel that a selector watches. Threads: any; what is of the selecting thread says so. */
final class RSelectionKey extends AbstractSelectionKey {
    private final RSelector selector;
    private final AbstractSelectableChannel channel;
    private final Watched watched;
    private final AtomicInteger interest = new AtomicInteger();

    /** Whether the selector will look at this the next time. */
    private final AtomicBoolean suspected = new AtomicBoolean();

    private volatile int ready;

    /** Whether the selector waits for events of the completion channel. Of the selecting thread. */
    private boolean hasEvents;

    /** The place among the selected keys, if it is there. Of {@link SelectedKeys}. */
    int selectedAt;

    RSelectionKey(RSelector selector, AbstractSelectableChannel channel, Watched watched) {
        this.selector = selector;
        this.channel = channel;
        this.watched = watched;
    }

    @Override
    public SelectableChannel channel() {
        return channel;
    }

    AbstractSelectableChannel abstractChannel() {
        return channel;
    }

    @Override
    public RSelector selector() {
        return selector;
    }

    Watched watched() {
        return watched;
    }

    @Override
    public int interestOps() {
        checkValid();
        return interest.get();
    }

    @Override
    public SelectionKey interestOps(int operations) {
        interestOpsReplace(operations);
        return this;
    }

    private void interestOpsReplace(int operations) {
        checkValid();
        checkOperations(operations);
        if (interest.getAndSet(operations) != operations) {
            selector.interestChanged(this);
        }
    }

    @Override
    public int interestOpsOr(int operations) {
        checkValid();
        checkOperations(operations);
        int before = interest.getAndUpdate(old -> old | operations);
        changed(before, before | operations);
        return before;
    }

    @Override
    public int interestOpsAnd(int operations) {
        checkValid();
        int before = interest.getAndUpdate(old -> old & operations);
        changed(before, before & operations);
        return before;
    }

    private void changed(int before, int now) {
        if (before != now) {
            selector.interestChanged(this);
        }
    }

    private void checkOperations(int operations) {
        if ((operations & ~channel.validOps()) != 0) {
            throw new IllegalArgumentException(
                    "ops must be a subset of the channel's validOps() " + channel.validOps() + ": " + operations);
        }
    }

    /** Sets the first interest. */
    void begin(int operations) {
        interest.set(operations);
    }

    int interest() {
        return interest.get();
    }

    @Override
    public int readyOps() {
        checkValid();
        return ready;
    }

    int ready() {
        return ready;
    }

    void ready(int operations) {
        ready = operations;
    }

    private void checkValid() {
        if (!isValid()) {
            throw new CancelledKeyException();
        }
    }

    /** Has the selector look at the channel, and wakes it. */
    void suspect() {
        selector.suspect(this);
    }

    /** Returns true if the selector was not to look at this yet. */
    boolean becomeSuspected() {
        return suspected.compareAndSet(false, true);
    }

    void clearSuspected() {
        suspected.set(false);
    }

    boolean hasEvents() {
        return hasEvents;
    }

    void hasEvents(boolean value) {
        hasEvents = value;
    }
}
