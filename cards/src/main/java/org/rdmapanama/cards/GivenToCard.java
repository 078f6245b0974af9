package org.rdmapanama.cards;

/**
 * What a ConnectX card was given for a queue pair, by the commands of its driver and in its registers.
 *
 * @param entryBytes the size of an entry of the completion queue of its sends
 * @param padded whether all bytes of such an entry are written
 * @param register the number of the doorbell register in which its doorbell was rung last, among those of the page that its
 *     driver has named; -1 if that shows in none of them
 */
public record GivenToCard(int entryBytes, boolean padded, int register) {}
