package org.rdmapanama;

import java.net.InetAddress;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.memory.AccessFlag;

/**
 * The options with which {@link QueuePair#connect} connects a queue pair. The defaults suit most programs. Threads: one
 * at a time.
 */
public final class ConnectOptions {
    private int port = 1;
    private int gidIndex = -1;
    private int pkeyIndex = 0;
    private int serviceLevel = 0;
    private int trafficClass = 0;
    private int hopLimit = 64;
    private int timeout = 16;
    private int retryCount = 6;
    private int rnrRetry = 7;
    private int minRnrTimer = 12;
    private int maxReadAtomic = 16;
    private int qkey = 0x1111_1111;
    private @Nullable Mtu pathMtu;
    private @Nullable InetAddress peer;
    private @Nullable Endpoint remote;
    private Set<AccessFlag> remoteAccess =
            EnumSet.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);

    /** Creates options for port 1, a chosen GID, the port's MTU and all remote access. */
    public ConnectOptions() {}

    /** Returns a copy, for an object that keeps the options. */
    ConnectOptions copy() {
        ConnectOptions copy = new ConnectOptions();
        copy.port = port;
        copy.gidIndex = gidIndex;
        copy.pkeyIndex = pkeyIndex;
        copy.serviceLevel = serviceLevel;
        copy.trafficClass = trafficClass;
        copy.hopLimit = hopLimit;
        copy.timeout = timeout;
        copy.retryCount = retryCount;
        copy.rnrRetry = rnrRetry;
        copy.minRnrTimer = minRnrTimer;
        copy.maxReadAtomic = maxReadAtomic;
        copy.qkey = qkey;
        copy.pathMtu = pathMtu;
        copy.peer = peer;
        copy.remote = remote;
        copy.remoteAccess = EnumSet.copyOf(remoteAccess);
        return copy;
    }

    private static int checked(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " must be between " + min + " and " + max + ": " + value);
        }
        return value;
    }

    /**
     * Sets the local port, from 1.
     *
     * @param value the value, 1 to 255; 1 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions port(int value) {
        port = checked("port", value, 1, 255);
        return this;
    }

    int port() {
        return port;
    }

    /**
     * Sets the index of this side's address in the port's GID table. With -1, {@link Context#preferredGid(int)} chooses
     * it from what {@link #peer} and {@link #remote} say.
     *
     * @param value the value, -1 to 255; -1 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions gidIndex(int value) {
        gidIndex = checked("gidIndex", value, -1, 255);
        return this;
    }

    int gidIndex() {
        return gidIndex;
    }

    /**
     * Sets the index of the partition key in the port's table.
     *
     * @param value the value, 0 to 65535; 0 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions pkeyIndex(int value) {
        pkeyIndex = checked("pkeyIndex", value, 0, 65535);
        return this;
    }

    int pkeyIndex() {
        return pkeyIndex;
    }

    /**
     * Sets the InfiniBand service level, or Ethernet priority.
     *
     * @param value the value, 0 to 15; 0 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions serviceLevel(int value) {
        serviceLevel = checked("serviceLevel", value, 0, 15);
        return this;
    }

    int serviceLevel() {
        return serviceLevel;
    }

    /**
     * Sets the DSCP and ECN bits of the packets.
     *
     * @param value the value, 0 to 255; 0 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions trafficClass(int value) {
        trafficClass = checked("trafficClass", value, 0, 255);
        return this;
    }

    int trafficClass() {
        return trafficClass;
    }

    /**
     * Sets how many routers packets may pass.
     *
     * @param value the value, 0 to 255; 64 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions hopLimit(int value) {
        hopLimit = checked("hopLimit", value, 0, 255);
        return this;
    }

    int hopLimit() {
        return hopLimit;
    }

    /**
     * Sets how long to wait for an acknowledgement, as the exponent n in 4.096 microseconds * 2<sup>n</sup>; 0 waits
     * forever.
     *
     * @param value the value, 0 to 31; 16 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions timeout(int value) {
        timeout = checked("timeout", value, 0, 31);
        return this;
    }

    int timeout() {
        return timeout;
    }

    /**
     * Sets how often an unacknowledged request is retransmitted; some devices take 7 for no limit.
     *
     * @param value the value, 0 to 7; 6 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions retryCount(int value) {
        retryCount = checked("retryCount", value, 0, 7);
        return this;
    }

    int retryCount() {
        return retryCount;
    }

    /**
     * Sets how often a request is retransmitted while the peer has no receive posted; 7 means no limit.
     *
     * @param value the value, 0 to 7; 7 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions rnrRetry(int value) {
        rnrRetry = checked("rnrRetry", value, 0, 7);
        return this;
    }

    int rnrRetry() {
        return rnrRetry;
    }

    /**
     * Sets how long the peer waits before it retransmits when this side has no receive posted, coded as in the
     * specification: 1 is 0.01 ms, 12 is 0.64 ms, 31 is 491.52 ms.
     *
     * @param value the value, 0 to 31; 12 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions minRnrTimer(int value) {
        minRnrTimer = checked("minRnrTimer", value, 0, 31);
        return this;
    }

    int minRnrTimer() {
        return minRnrTimer;
    }

    /**
     * Sets the maximum number of outstanding RDMA reads and atomics in each direction. It is lowered to the limits of
     * the device and of the peer's {@link Endpoint}, since this side must not have more outstanding than the peer
     * answers.
     *
     * @param value the value, 0 to 255; 16 by default
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public ConnectOptions maxReadAtomic(int value) {
        maxReadAtomic = checked("maxReadAtomic", value, 0, 255);
        return this;
    }

    int maxReadAtomic() {
        return maxReadAtomic;
    }

    /**
     * Sets the Q_Key of a datagram queue pair, 32 bits. The {@link Endpoint} does not contain it. Both sides must set
     * the same one, because a datagram with another is dropped silently.
     *
     * @param value the value; 0x1111_1111 by default
     * @return this
     */
    public ConnectOptions qkey(int value) {
        qkey = value;
        return this;
    }

    int qkey() {
        return qkey;
    }

    /**
     * Sets the largest path MTU of this side; it is lowered to the port's {@linkplain org.rdmapanama.device.PortAttributes#activeMtu() active
     * MTU}. The {@link Endpoint} contains it, and a connection uses the smaller one of both sides. A peer whose
     * endpoint has none, such as a program of rdma-core, must use this one.
     *
     * @param value the MTU; null, the default, for that of the port
     * @return this
     */
    public ConnectOptions pathMtu(@Nullable Mtu value) {
        pathMtu = value;
        return this;
    }

    @Nullable
    Mtu pathMtu() {
        return pathMtu;
    }

    /**
     * Sets an address of the peer, from which {@link Context#preferredGid(int, InetAddress)} chooses the GID when no
     * {@link #gidIndex} is set. If both sides already have a TCP connection, pass the address of its other end.
     *
     * @param value the address; null, the default, if it is not known
     * @return this
     */
    public ConnectOptions peer(@Nullable InetAddress value) {
        peer = value;
        return this;
    }

    @Nullable
    InetAddress peer() {
        return peer;
    }

    /**
     * Sets the endpoint of the peer, on the side that creates its own endpoint second. When no {@link #gidIndex} is
     * set, a GID is chosen that can reach the peer's: of the same type and IP version and, if there is one, in its
     * subnet. It takes precedence over {@link #peer}, unless the peer's GID is link-local.
     *
     * @param value the peer's endpoint; null, the default, if it is not known
     * @return this
     */
    public ConnectOptions remote(@Nullable Endpoint value) {
        remote = value;
        return this;
    }

    @Nullable
    Endpoint remote() {
        return remote;
    }

    /**
     * Sets the operations that the peer may use through this queue pair, as far as the flags of the memory allow them.
     *
     * @param flags any of REMOTE_READ, REMOTE_WRITE and REMOTE_ATOMIC; all three by default
     * @return this
     * @throws NullPointerException when one is null
     */
    public ConnectOptions remoteAccess(AccessFlag... flags) {
        remoteAccess = EnumSet.noneOf(AccessFlag.class);
        remoteAccess.addAll(Arrays.asList(flags));
        return this;
    }

    Set<AccessFlag> remoteAccessFlags() {
        return remoteAccess;
    }

    /** All options. */
    @Override
    public String toString() {
        return "port " + port + ", GID index " + (gidIndex < 0 ? "chosen" : gidIndex) + ", P_Key index " + pkeyIndex
                + ", service level " + serviceLevel + ", traffic class " + trafficClass + ", hop limit " + hopLimit
                + ", timeout " + timeout + ", retry count " + retryCount + ", RNR retry " + rnrRetry
                + ", minimal RNR timer " + minRnrTimer + ", reads and atomics " + maxReadAtomic
                + ", Q_Key 0x" + Integer.toHexString(qkey)
                + ", path MTU " + (pathMtu == null ? "of the port" : pathMtu)
                + ", peer " + (peer == null ? "not known" : peer)
                + ", remote endpoint " + (remote == null ? "not known" : remote)
                + ", remote access " + remoteAccess;
    }
}
