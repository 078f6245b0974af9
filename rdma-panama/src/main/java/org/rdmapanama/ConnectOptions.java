package org.rdmapanama;

import java.net.InetAddress;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * How a queue pair is to be connected by {@link QueuePair#connect}: what is not set has a value that suits most.
 * Threads: one at a time.
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
    private Mtu pathMtu;
    private InetAddress peer;
    private Endpoint remote;
    private Set<AccessFlag> remoteAccess =
            EnumSet.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);

    /** Port 1, a GID that is chosen, the port's MTU, and all remote access. */
    public ConnectOptions() {}

    /** These as they are now, for an object that keeps them. */
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
            throw new IllegalArgumentException(name + " must be between " + min + " and " + max + ", not " + value);
        }
        return value;
    }

    /**
     * Sets: Local port, from 1.
     *
     * @param value what to use, 1 to 255; 1 when never set
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
     * Sets: Place of this side's address in the port's GID table; -1 lets {@link Context#preferredGid(int)} choose, with
     * what {@link #peer} and {@link #remote} say.
     *
     * @param value what to use, -1 to 255; -1 when never set
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
     * Sets: Place of the partition key in the port's table.
     *
     * @param value what to use, 0 to 65535; 0 when never set
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
     * Sets: InfiniBand service level, or Ethernet priority.
     *
     * @param value what to use, 0 to 15; 0 when never set
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
     * Sets: DSCP and ECN bits of the packets.
     *
     * @param value what to use, 0 to 255; 0 when never set
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
     * Sets: How many routers packets may pass.
     *
     * @param value what to use, 0 to 255; 64 when never set
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
     * Sets: How long to wait for an acknowledgement: 4.096 microseconds times two to this power; 0 is for ever.
     *
     * @param value what to use, 0 to 31; 16 when never set
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
     * Sets: How often to send again what is not acknowledged; some devices take 7 for without end.
     *
     * @param value what to use, 0 to 7; 6 when never set
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
     * Sets: How often to send again when the peer has no receive posted; 7 is without end.
     *
     * @param value what to use, 0 to 7; 7 when never set
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
     * Sets: How long the peer is to wait when no receive is posted, coded as in the specification: 1 is 0.01 ms, 12 is 0.64 ms, 31 is 491.52 ms.
     *
     * @param value what to use, 0 to 31; 12 when never set
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
     * Sets: RDMA reads and atomics outstanding in each direction at most; lowered to what the device can, and to what the
     * peer told in its {@link Endpoint}: this side asks for no more at once than the peer answers.
     *
     * @param value what to use, 0 to 255; 16 when never set
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
     * Sets: Q_Key of a datagram queue pair, 32 bits.
     *
     * @param value what to use; 0x1111_1111 when never set
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
     * Sets the largest path MTU that this side takes. The {@link Endpoint} tells it, and a connection has the smaller one of
     * what both sides told. A peer that tells none, such as a program of rdma-core, must use this one.
     *
     * @param value the MTU, or null for the one that the port uses
     * @return this
     */
    public ConnectOptions pathMtu(Mtu value) {
        pathMtu = value;
        return this;
    }

    Mtu pathMtu() {
        return pathMtu;
    }

    /**
     * Sets an address of the peer, by which {@link Context#preferredGid(int, InetAddress)} chooses the GID when no
     * {@link #gidIndex} is set. It suits when both sides have met over TCP: then it is the other end of that connection.
     *
     * @param value the address; null, as when never set, when it is not known
     * @return this
     */
    public ConnectOptions peer(InetAddress value) {
        peer = value;
        return this;
    }

    InetAddress peer() {
        return peer;
    }

    /**
     * Sets what the peer has told already, for the side that tells its own endpoint second: when no {@link #gidIndex} is
     * set, a GID is chosen that can reach the peer's, of the same type and the same version of IP, and in its subnet where
     * there is one. It goes before {@link #peer}, unless the peer's GID is a link-local one.
     *
     * @param value the peer's endpoint; null, as when never set, when it is not known
     * @return this
     */
    public ConnectOptions remote(Endpoint value) {
        remote = value;
        return this;
    }

    Endpoint remote() {
        return remote;
    }

    /**
     * Sets what the peer may do through this queue pair, as far as the memory's own flags allow it.
     *
     * @param flags any of REMOTE_READ, REMOTE_WRITE and REMOTE_ATOMIC; all three when never set
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
}
