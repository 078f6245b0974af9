package org.rdmapanama.queue;

/**
 * Options of enhanced connection establishment, {@code struct ibv_ece}: vendor-specific settings on which two sides
 * with devices of the same vendor agree; see ibv_query_ece(3).
 *
 * @param vendorId identifier of the vendor, an IEEE OUI; 0 means that there are no options
 * @param options bits of the vendor
 * @param compMask which fields are valid beyond these two; 0 in all versions so far
 */
public record Ece(int vendorId, int options, int compMask) {
    /**
     * Options without further fields.
     *
     * @param vendorId identifier of the vendor, an IEEE OUI
     * @param options bits of the vendor
     */
    public Ece(int vendorId, int options) {
        this(vendorId, options, 0);
    }
}
