"""Topics of documents: which clusterer and geometry ranks best, and the adapter with BERTopic."""
