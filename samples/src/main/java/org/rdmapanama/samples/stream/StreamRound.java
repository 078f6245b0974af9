package org.rdmapanama.samples.stream;

import java.util.List;

/**
 * The tests of one connection.
 *
 * @param tests the tests, at least one
 * @param inlineSize the largest message that is sent inline; null for the default
 */
record StreamRound(List<StreamTest> tests, Integer inlineSize) {}
