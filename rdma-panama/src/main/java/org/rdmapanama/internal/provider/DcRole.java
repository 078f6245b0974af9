package org.rdmapanama.internal.provider;

/**
 * The role of a queue pair of the dynamically connected transport; to verbs it is one of type DRIVER. An initiator sends,
 * each time to another target if need be; a target receives from all initiators that know its key.
 */
public sealed interface DcRole {
    /**
     * It sends, and receives nothing (DCI).
     *
     * @param addressing finds the function that names the target of a send
     * @param maxReads how many reads and atomics it may have outstanding; 0 if the driver does not tell
     */
    record Initiator(Addressing addressing, int maxReads) implements DcRole {}

    /**
     * It receives, and sends nothing (DCT). The device creates it when it is moved to RTR, and only then does it have a
     * number, and attributes to ask for.
     *
     * @param maxReads how many reads and atomics it answers at a time; 0 if the driver does not tell
     */
    record Target(int maxReads) implements DcRole {}

    /** Finds the function that names the target of a send. */
    @FunctionalInterface
    interface Addressing {
        /**
         * Returns the function of a queue pair.
         *
         * @param extended the {@code struct ibv_qp_ex}
         * @return what is called between the operation of a send and its data
         */
        TargetSetter of(long extended);
    }

    /** Names the target of the send under construction, as ibv_wr_set_ud_addr names that of a datagram. */
    @FunctionalInterface
    interface TargetSetter {
        /**
         * Names the target.
         *
         * @param handle the {@code struct ibv_ah}
         * @param number of the target
         * @param accessKey of the target
         */
        void set(long handle, int number, long accessKey);
    }
}
