package org.rdmapanama.cards;

import java.lang.foreign.MemorySegment;

/**
 * A queue pair of a card: posts to a soft0 queue pair what the provider wrote into its rings.
 *
 * <p>A receive that a program posts before a send must be there when that send arrives. So the card notes the sends of all
 * pairs, then takes all receives, and then executes the sends that it noted.
 */
interface CardQueuePair {
    /** Notes what has been announced to the send queue. */
    void noteSends();

    /** Takes what is in the receive queue. Returns whether there was anything. */
    boolean takeReceives();

    /** Executes the sends that were noted. Returns whether there was anything. */
    boolean executeSends();

    /**
     * Has the card fail the next send or receive that it takes, and the pair with it.
     *
     * @param receive whether it is a receive
     */
    default void inject(boolean receive, InjectedError error) {
        throw new UnsupportedOperationException("this card injects no errors");
    }

    /** Moves the pair to the error state: the program did not ask for it. */
    void fail();

    /** Returns how many sends the card has found in a register of its own, besides in the ring. */
    default int takenFromRegister() {
        return 0;
    }

    /** Frees what the card has for the pair, which was destroyed. */
    void close();

    /** Returns what it was created with. */
    Card.QueuePairRequest request();

    /** Whether its sends or receives complete in a queue. */
    default boolean completesIn(CardCompletionQueue queue) {
        return request().sendCompletions().equals(queue)
                || request().receiveCompletions().equals(queue);
    }

    /** Returns the soft0 queue pair. */
    default long softPair() {
        return request().softPair();
    }

    /** Returns the number of the queue pair. */
    default int number() {
        return request().number();
    }

    /** Returns what number the provider is told when it creates the pair. */
    default int numberWhenCreated() {
        return number();
    }

    /** Returns by which index the provider finds the pair for a completion. */
    int userIndex();

    /**
     * Returns which attributes of a MODIFY_QP the soft0 queue pair gets.
     *
     * @param attributes a struct ibv_qp_attr
     * @param mask which of them count; those that soft0 does not have are left out
     * @throws CommandException if the card refuses them
     */
    default int softMask(MemorySegment attributes, int mask) throws CommandException {
        return mask;
    }

    /**
     * The pair was modified. In the state RESET its rings begin anew.
     *
     * @param attributes a struct ibv_qp_attr
     * @param mask which of them count
     */
    void modified(MemorySegment attributes, int mask);

    /**
     * Corrects what soft0 said to a QUERY_QP.
     *
     * @param mask which attributes the program asks for
     * @param attributes a struct ibv_qp_attr
     * @throws CommandException if the driver in the kernel refuses it
     */
    default void correctQuery(int mask, MemorySegment attributes) throws CommandException {}

    /** Returns what the card was given for this, for tests. */
    default GivenToCard given() {
        throw new UnsupportedOperationException("this card does not tell what it was given");
    }

    /** Writes the driver's part of the answer to an extended MODIFY_QP. */
    default void describeModified(long out) {}

    /**
     * A request is complete that was posted to soft0 for this pair.
     *
     * @param id what a {@link WorkId} has put together
     * @param status of enum ibv_wc_status
     * @return whether the provider shall be told
     */
    default boolean completed(long id, int status) {
        return true;
    }
}
