-- +goose Up
-- funding_fee is the fee of the transaction that sent the coin for the fee to the address of a row, in the smallest units of the coin as a
-- decimal number. It is empty if the row was not funded or if the fee is not known.
ALTER TABLE sweep_rows ADD COLUMN funding_fee TEXT NOT NULL DEFAULT '';
-- fee_eur is the value of both fees in euro when the row was read as moved. It is empty if no price was known.
ALTER TABLE sweep_rows ADD COLUMN fee_eur TEXT NOT NULL DEFAULT '';
