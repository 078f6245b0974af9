package org.rdmapanama.cards;

/**
 * What a card says of a work request that it shall not do.
 *
 * @param syndrome the hardware's code, from 0 to 255
 * @param vendorError the hardware's second code, from 0 to 255
 */
record InjectedError(int syndrome, int vendorError) {}
